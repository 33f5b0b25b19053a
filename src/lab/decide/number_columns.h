// Turns a refutation of a pattern in which each of several equal columns occurs once into one of
// the pattern itself. Costs the size of the refutation.
#pragma once

#include <cstdint>
#include <vector>

#include <tamis/lab/refutation.h>

namespace tamis::lab::decision {

/// Replaces column j by columns[j], which ascend. The text of a solver's problem keeps its numbers
/// and gets a comment that says what they stand for.
void number_columns(Grounds& grounds, const std::vector<std::int64_t>& columns);

}  // namespace tamis::lab::decision
