// Orders columns along a curve such that the nonzeros of each row lie far apart. A row's factor β
// in `moment` is proportional to 1/∏ gaps between its nonzeros, so near neighbours make it large.
// The search takes the best of a few regular orders and improves it by random exchanges, in a fixed
// number of passes over the nonzeros.
#pragma once

#include <cstdint>
#include <vector>

#include <tamis/lab/pattern.h>
#include "lab/realise/curve/curve.h"

namespace tamis::lab::realisation {

/// Returns the position of every column. Deterministic. Beside k² gaps for each row it examines at
/// most 2·10⁹ gaps. Where columns have so many nonzeros that one pass would take more, as with all
/// pairs, the result is the best regular order.
std::vector<std::int64_t> spread_columns(const Pattern& pattern, const Curve& curve);

}  // namespace tamis::lab::realisation
