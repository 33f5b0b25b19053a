// The paper's Algorithm 1 as printed, steps 1 to 11, so that its error stays reproducible
// (docs/errata.md).
#pragma once

#include <cstdint>
#include <vector>

namespace tamis::test {

/// One set of columns per row, bit j for column j: at most 31 columns.
using RowSets = std::vector<std::uint32_t>;

/// What the printed text answers for hidden size `hidden`. It leaves three things to the reader,
/// read here so: "two (possibly empty) connected components" (step 4) is "at most two"; K₁ is the
/// component of the first row of K₀, so that only K₂ may be empty; i₁, …, i_n of step 8 are all
/// rows, rows of ones at the end.
bool printed_algorithm(const RowSets& rows, int hidden);

}  // namespace tamis::test
