// Which small matrices have a witness of one column: by listing the order of the keys, and every
// threshold.
#pragma once

#include <vector>

#include <tamis/lab/pattern.h>
#include "support/lab/printed_algorithm.h"

namespace tamis::test {

/// By matrix (bit i·n + j is the entry of row i and column j): whether logits L exist that separate
/// every row. Weak conditions are open, so it is enough to look at numbers that are pairwise
/// different and not zero; then only order and signs matter, and each row's sets are the first 1,
/// …, n columns by falling L. n ≤ 4.
std::vector<bool> realised_by_orderings(int n,
                                        bool tied);  ///< tied: L = c·x_i·x_j, else L = q_i·k_j

/// The same for one pattern of any shape, queries and keys free: some order of the columns makes
/// every row an upper or a lower set. Up to 31 columns, but all their orders are tried.
bool fits_on_a_line(const lab::Pattern& pattern);

RowSets rows_of(std::uint32_t matrix, int n);

}  // namespace tamis::test
