// The queries and keys from which a descent starts.
#pragma once

#include <cstdint>

#include <tamis/lab/pattern.h>
#include "lab/realise/descent/points.h"

namespace tamis::lab::realisation {

/// Draws random keys on the unit sphere. Where rows have several nonzeros, keys that share rows are
/// first drawn together by rounds of averaging over the pattern, more of them the fewer dimensions
/// there are. Each query is then the normalised sum of its row's keys. A round costs 4·nonzeros·dim
/// flops.
void starting_points(const Pattern& pattern, std::uint64_t seed, Points& q, Points& k);

}  // namespace tamis::lab::realisation
