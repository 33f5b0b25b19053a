// Checks that the arrays of a pattern, which may come from a program, obey the rules of pattern.h.
#pragma once

#include <tamis/lab/pattern.h>

namespace tamis::lab::pattern {

/// Throws `input` unless offsets ascend from 0 to the number of nonzeros, every row has a nonzero,
/// columns ascend inside the matrix and values are positive and finite. Takes one pass
/// and allocates nothing.
void check_pattern(const Pattern& pattern);

/// Throws `input` unless a pattern is square and has no entry above the diagonal. It must have
/// passed `check_pattern`.
void check_causal(const Pattern& pattern);

}  // namespace tamis::lab::pattern
