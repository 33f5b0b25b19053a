// Merging two softmax states of one row.
#pragma once

#include <span>

namespace tamis {

/// (m, l, o) ← the state of both key sets. A state without keys has m = −inf and changes nothing.
void merge_row(float& m, float& l, std::span<float> o, float m2, float l2, std::span<const float> o2);

}  // namespace tamis
