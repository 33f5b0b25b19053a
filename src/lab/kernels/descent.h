// Kernels of the descent on queries and keys (src/lab/realise). Rows of q, k and their gradients
// are padded with zeros, which stay zero, to a multiple of pad/2 floats (`pad` of kernels.h).
#pragma once

#include <cstdint>

#include "kernels/kernels.h"

namespace tamis::lab::kernels {

struct DescentKernels {
  /// For each lane i of a tile of logits from tile_logits, lists the keys j < keys in order for
  /// which s[j·tile + i] > above[i]: first + j goes to key[i·page_tokens + c] and the logit to
  /// value[i·page_tokens + c], 0 ≤ c < count[i].
  void (*pick)(const float* s, int keys, const float* above, std::int32_t first, std::int32_t* key,
               float* value, std::int32_t* count);
  /// For each listed key with an excess e = q·k_j − above > 0, adds weight·e·k_j to grad_q and
  /// weight·e·q to grad_k_j. Returns Σ weight·e.
  float (*push)(const float* q, const float* k, std::int64_t stride, const std::int32_t* keys,
                int count, float above, float weight, float* grad_q, float* grad_k);
  /// out[c] = q·k_keys[c].
  void (*dots)(const float* q, const float* k, std::int64_t stride, const std::int32_t* keys,
               int count, float* out);
  /// One step of Adam over n padded elements. mean and square are moving averages of grad and grad²
  /// with rates 0.1 and 0.01, and x −= rate·mean/(√(square·correction) + 10⁻⁶).
  void (*adam)(float* x, const float* grad, float* mean, float* square, std::int64_t n, float rate,
               float correction);
};

}  // namespace tamis::lab::kernels
