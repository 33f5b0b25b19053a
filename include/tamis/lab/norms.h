// R = B²‖W‖_F of a head, the number the n^C-sparsity theory hangs on: W = scale·W_Q·W_Kᵀ between
// inputs x_i and x_j, |x| ≤ B entrywise. With a rotary embedding W depends on the offset i − j.
// docs/laws.md says what R predicts.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include <tamis/export.h>
#include <tamis/lab/trace.h>

namespace tamis::lab {

/// ‖W‖_F of one query head with its KV head, the scale included.
struct WeightNorm {
  double norm = 0;  ///< at offset 0, which without rotary embedding is the only one
  double low = 0;   ///< least and greatest over the offsets, and where
  double high = 0;
  std::int64_t low_offset = 0;
  std::int64_t high_offset = 0;
};

/// Which offsets i − j of a query i and a key j there are, both below the number given.
enum class Offsets : std::uint8_t {
  causal,  ///< 0 … offsets − 1
  all,     ///< −(offsets − 1) … offsets − 1: queries see keys after them too
};

/// One per query head. Takes hidden·d² operations per head and d² per offset, O(d²) memory per
/// thread beside the weights in f64; never forms a hidden × hidden matrix. threads ≥ 1; results do
/// not depend on it. Throws `input` if weights are NaN or infinite, `usage` if shapes do not belong
/// together or offsets < 1.
[[nodiscard]] TAMIS_API std::vector<WeightNorm> weight_norms(const LayerWeights& weights,
                                                             const Shape& shape,
                                                             const std::optional<Rotary>& rotary,
                                                             std::int64_t offsets, int threads = 1,
                                                             Offsets which = Offsets::causal);

/// What R says about a row of n keys under the theory's own assumptions, entries of X independent,
/// centred and within B: the standard deviation of a logit over queries and keys together is then
/// at most R. So R bounds the rows' spreads in root mean square over queries; a single row, its
/// query fixed, may spread wider. The prediction is for a Gaussian row of spread R. No estimate:
/// real inputs are neither independent nor centred.
struct NormPrediction {
  double R = 0;         ///< B²·norm
  double k_eps = 0;     ///< gaussian_k_eps(n, R, eps)
  double exponent = 0;  ///< C = max(0, 1 − R²/(2 log n)): sigma² = s²·log n gives 1 − s²/2
};
/// Half a millisecond; throws `usage` unless input_bound > 0, norm ≥ 0, n ≥ 1, 0 < eps < 1.
/// Thread-safe.
[[nodiscard]] TAMIS_API NormPrediction predict_from_norm(double input_bound, double norm, double n,
                                                         double eps);

}  // namespace tamis::lab
