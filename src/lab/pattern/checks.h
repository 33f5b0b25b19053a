// Patterns that did not come from a file: whether the arrays are what pattern.h promises.
#pragma once

#include <tamis/lab/pattern.h>

namespace tamis::lab::pattern {

/// Throws `input` unless offsets ascend from 0 to the number of nonzeros, every row has a nonzero,
/// columns ascend inside the matrix and values are positive and finite. One pass; allocates
/// nothing.
void check_pattern(const Pattern& pattern);

/// Throws `input` unless a pattern that passed `check_pattern` is square, without entries above the
/// diagonal.
void check_causal(const Pattern& pattern);

}  // namespace tamis::lab::pattern
