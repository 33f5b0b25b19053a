// Refutations of a pattern in which equal columns are there once, as refutations of the pattern
// itself.
#pragma once

#include <cstdint>
#include <vector>

#include <tamis/lab/refutation.h>

namespace tamis::lab::decision {

/// Column j becomes columns[j], which ascend. The problem of a solver keeps its numbers and says in
/// a comment what they stand for.
void number_columns(Grounds& grounds, const std::vector<std::int64_t>& columns);

}  // namespace tamis::lab::decision
