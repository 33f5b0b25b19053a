// Decides by exhaustive search which small matrices have a witness of one column: it tries every
// order of the keys and every threshold.
#pragma once

#include <vector>

#include <tamis/lab/pattern.h>
#include "support/lab/printed_algorithm.h"

namespace tamis::test {

/// For each n × n matrix, whether logits L exist that separate every row. Bit i·n + j of the index
/// is the entry in row i and column j. With `tied`, L = c·x_i·x_j; otherwise L = q_i·k_j. Weak
/// conditions are open, so it suffices to try numbers that are pairwise different and not zero.
/// Then only order and signs matter, and the candidates for a row are the first 1, …, n columns by
/// descending logit. n ≤ 4.
std::vector<bool> realised_by_orderings(int n, bool tied);

/// The same for one pattern of any shape, with free queries and keys: whether some order of the
/// columns makes every row an upper or a lower set. Tries all orders; up to 31 columns.
bool fits_on_a_line(const lab::Pattern& pattern);

RowSets rows_of(std::uint32_t matrix, int n);

}  // namespace tamis::test
