// The paper's Algorithm 1 as printed, steps 1 to 11, which reproduces its error (docs/errata.md).
#pragma once

#include <cstdint>
#include <vector>

namespace tamis::test {

/// One set of columns per row: bit j stands for column j. At most 31 columns.
using RowSets = std::vector<std::uint32_t>;

/// The answer of the printed algorithm for hidden size `hidden`. The text is open in three places,
/// which are read as follows: "two (possibly empty) connected components" (step 4) means at most
/// two; K₁ is the component of the first row of K₀, so that only K₂ may be empty; i₁, …, i_n of
/// step 8 are all rows, with rows of ones last.
bool printed_algorithm(const RowSets& rows, int hidden);

}  // namespace tamis::test
