// Softmax states of one row: merging two of them, and what one comes to.
#pragma once

#include <span>

namespace tamis::attention {

/// (m, l, o) ← the state of both key sets. A state without keys has m = −inf and changes nothing.
void merge_row(float& m, float& l, std::span<float> o, float m2, float l2,
               std::span<const float> o2);
/// out = o/l; returns log l + m·log 2, the log-sum-exp. A state without keys gives 0 and −inf, and
/// a result that is not finite is marked by NaN.
float finish_row(float m, float l, std::span<const float> o, std::span<float> out);

}  // namespace tamis::attention
