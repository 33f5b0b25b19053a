// Softmax states of one row: merges two of them, or computes the output of one.
#pragma once

#include <span>

namespace tamis::attention {

/// Merges (m2, l2, o2) into (m, l, o), which becomes the state of both sets of keys. A state
/// without keys has m = −inf and changes nothing.
void merge_row(float& m, float& l, std::span<float> o, float m2, float l2,
               std::span<const float> o2);
/// Writes out = o / l and returns the log-sum-exp, log l + m·log 2. A state without keys gives 0
/// and −inf. Returns NaN if the result is not finite.
float finish_row(float m, float l, std::span<const float> o, std::span<float> out);

}  // namespace tamis::attention
