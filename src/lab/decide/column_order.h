// Orders of columns in which rows change sign seldom. Keys on a curve in that order need as many
// dimensions as a row changes sign: a polynomial of that degree changes sign where the row does.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "lab/decide/clock.h"
#include "lab/decide/sign_matrix.h"
#include "lab/decide/small_cases.h"

namespace tamis::lab::decision {

struct ColumnOrder {
  std::vector<std::int64_t> order;  ///< columns of the sign matrix, along the curve
  std::int64_t changes = 0;         ///< the most of a row, first to last
};

/// From a few beginnings (the pattern's own order, nearest neighbours) improved by reversing and
/// moving pieces until nothing helps, then from perturbed ones until the clock is over or `rounds`
/// are done. Nothing if there are more than 4096 kinds of columns, or more than 2^27 bits.
std::optional<ColumnOrder> column_order(const SignMatrix& signs, std::uint64_t seed, int rounds,
                                        Clock::Part& clock);

/// Keys in that order: on a circle (cos t, sin t, cos 2t, …) if dim is even, otherwise on
/// Chebyshev's curve (T_1(x), …, T_dim(x)). Queries exist if no row changes sign more than dim
/// times, round about if dim is even.
Keys keys_on_curve(const SignMatrix& signs, const ColumnOrder& order, std::int64_t dim);

}  // namespace tamis::lab::decision
