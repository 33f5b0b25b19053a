// R = B²‖W‖_F of a head, the number the n^C-sparsity theory hangs on: W = scale·W_Q·W_Kᵀ between inputs x_i
// and x_j, |x| ≤ B entrywise. With a rotary embedding W depends on the offset i − j. docs/laws.md says what
// R predicts.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include <tamis/export.h>
#include <tamis/trace.h>

namespace tamis {

/// ‖W‖_F of one query head with its KV head, the scale included.
struct WeightNorm {
  double norm = 0;  ///< at offset 0, which without rotary embedding is the only one
  double low = 0;   ///< least and greatest over the offsets 0 … offsets − 1, and where
  double high = 0;
  std::int64_t low_offset = 0;
  std::int64_t high_offset = 0;
};

/// One per query head. Takes hidden·d² operations per head and d² per offset, O(d²) memory per thread
/// beside the weights in f64; never forms a hidden × hidden matrix. threads ≥ 1;
/// results do not depend on it. Throws `input` if weights are NaN or infinite, `usage` if shapes do not
/// belong together or offsets < 1.
[[nodiscard]] TAMIS_API std::vector<WeightNorm> weight_norms(const LayerWeights& weights,
                                                             const Shape& shape,
                                                             const std::optional<Rotary>& rotary,
                                                             std::int64_t offsets, int threads = 1);

/// What R says about a row of n keys under the theory's own assumptions, entries of X independent, centred
/// and within B: the standard deviation of the logits is then at most R, and a Gaussian row of that spread
/// is the sparsest Gaussian row allowed. A bound, not an estimate: real inputs are neither independent nor
/// centred.
struct NormPrediction {
  double R = 0;         ///< B²·norm
  double k_eps = 0;     ///< gaussian_support(n, R, eps)
  double exponent = 0;  ///< C = max(0, 1 − R²/(2 log n)): sigma² = s²·log n gives 1 − s²/2
};
/// Half a millisecond; throws `usage` unless input_bound > 0, norm ≥ 0, n ≥ 1, 0 < eps < 1. Thread-safe.
[[nodiscard]] TAMIS_API NormPrediction predict_from_norm(double input_bound, double norm, double n,
                                                         double eps);

}  // namespace tamis
