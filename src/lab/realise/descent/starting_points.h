// Where a descent begins.
#pragma once

#include <cstdint>

#include <tamis/lab/pattern.h>
#include "lab/realise/descent/points.h"

namespace tamis::lab::realisation {

/// Random keys on the sphere; where rows have several nonzeros, keys that rows share are first
/// drawn together by some rounds of averaging over the pattern, the more the fewer dimensions there
/// are to escape through. Queries point to the middle of their keys. A round costs 4·nonzeros·dim
/// flops.
void starting_points(const Pattern& pattern, std::uint64_t seed, Points& q, Points& k);

}  // namespace tamis::lab::realisation
