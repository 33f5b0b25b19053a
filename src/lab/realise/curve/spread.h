// An order of columns along a curve in which the nonzeros of each row lie far apart: a row's factor
// in `moment` is in proportion to 1/∏ gaps between its nonzeros, so near neighbours are what makes
// it large. Random exchanges from the best of a few regular orders; a fixed number of passes over
// the nonzeros.
#pragma once

#include <cstdint>
#include <vector>

#include <tamis/lab/pattern.h>
#include "lab/realise/curve/curve.h"

namespace tamis::lab::realisation {

/// The position of every column. Deterministic. Looks at 2·10⁹ gaps at most beside k² for each row:
/// where columns have so many nonzeros that one pass would take more, as with all pairs, the best
/// regular order is taken.
std::vector<std::int64_t> spread_columns(const Pattern& pattern, const Curve& curve);

}  // namespace tamis::lab::realisation
