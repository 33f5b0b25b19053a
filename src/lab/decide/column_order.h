// Finds orders of the columns in which rows change sign seldom. Keys on a curve in that order need
// as many dimensions as the most sign changes of a row, because a polynomial of that degree can
// change sign where the row does.
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
  std::int64_t changes = 0;         ///< the most sign changes of a row, from first to last column
};

/// Starts from the pattern's own order and from nearest neighbours, and improves each by reversing
/// and moving pieces until nothing helps; then continues from perturbed orders until the clock is
/// over or `rounds` are done. Returns nothing for more than 4096 kinds of columns or 2^27 bits.
std::optional<ColumnOrder> column_order(const SignMatrix& signs, std::uint64_t seed, int rounds,
                                        Clock::Part& clock);

/// Keys in that order, on a circle (cos t, sin t, cos 2t, …) if dim is even, otherwise on
/// Chebyshev's curve (T_1(x), …, T_dim(x)). Queries exist if no row changes sign more than dim
/// times, counted cyclically if dim is even.
Keys keys_on_curve(const SignMatrix& signs, const ColumnOrder& order, std::int64_t dim);

}  // namespace tamis::lab::decision
