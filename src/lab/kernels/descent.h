// Kernels of the descent on queries and keys (src/realise). Rows of q, k and their gradients are
// padded with zeros to a multiple of half of `pad` floats, and the padding stays zero.
#pragma once

#include <cstdint>

#include "kernels/kernels.h"

namespace tamis::lab::kernels {

struct DescentKernels {
  /// For lane i of a tile of logits, as tile_logits leaves it: the keys j < keys with s[j·tile + i]
  /// > above[i], in their order; first + j goes to key[i·page_tokens + c] and the logit to
  /// value[i·page_tokens + c], c < count[i].
  void (*pick)(const float* s, int keys, const float* above, std::int32_t first, std::int32_t* key,
               float* value, std::int32_t* count);
  /// Over the listed keys with excess e = q·k_j − above > 0: grad_q += weight·e·k_j and
  /// grad_k_j += weight·e·q. Returns Σ weight·e.
  float (*push)(const float* q, const float* k, std::int64_t stride, const std::int32_t* keys,
                int count, float above, float weight, float* grad_q, float* grad_k);
  /// out[c] = q·k_keys[c].
  void (*dots)(const float* q, const float* k, std::int64_t stride, const std::int32_t* keys,
               int count, float* out);
  /// One step of Adam over n padded elements: mean and square follow grad and grad² with rates 0.1
  /// and 0.01, x −= rate·mean/(√(square·correction) + 10⁻⁶).
  void (*adam)(float* x, const float* grad, float* mean, float* square, std::int64_t n, float rate,
               float correction);
};

}  // namespace tamis::lab::kernels
