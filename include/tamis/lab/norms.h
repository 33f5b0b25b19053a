// R = B²‖W‖_F of a head, the quantity on which the theory of n^C-sparsity depends. The matrix W =
// scale·W_Q·W_Kᵀ acts between inputs x_i and x_j whose entries are at most B in absolute value.
// With a rotary embedding W depends on the offset i − j. docs/laws.md says what R predicts.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include <tamis/export.h>
#include <tamis/lab/trace.h>

namespace tamis::lab {

/// ‖W‖_F of one query head and its KV head, including the scale.
struct WeightNorm {
  double norm = 0;  ///< at offset 0; without rotary embedding W is the same at every offset
  double low = 0;   ///< the least norm over the offsets, attained at low_offset
  double high = 0;
  std::int64_t low_offset = 0;
  std::int64_t high_offset = 0;
};

/// The range of offsets i − j between a query i and a key j, given the number of offsets.
enum class Offsets : std::uint8_t {
  causal,  ///< 0 … offsets − 1
  all,     ///< −(offsets − 1) … offsets − 1, for attention that is not causal
};

/// Returns the norms of every query head, over `offsets` offsets as `which` describes. Takes
/// hidden·d² operations per head and d² per offset, and O(d²) memory per thread besides the
/// weights in f64. Never forms a hidden × hidden matrix. The result does not depend on `threads`,
/// which must be at least 1. Throws `input` if weights are NaN or infinite, `usage` if shapes do
/// not match, the rotary embedding does not fit the shape or offsets < 1.
[[nodiscard]] TAMIS_API std::vector<WeightNorm> weight_norms(const LayerWeights& weights,
                                                             const Shape& shape,
                                                             const std::optional<Rotary>& rotary,
                                                             std::int64_t offsets, int threads = 1,
                                                             Offsets which = Offsets::causal);

/// What R predicts for a row of n keys under the theory's own assumptions: the entries of X are
/// independent, centred and at most B in absolute value. The standard deviation of a logit over
/// queries and keys together is then at most R. R thus bounds the root mean square over queries of
/// the rows' standard deviations; a single row, with its query fixed, may have a larger one. The
/// prediction is for a Gaussian row of standard deviation R. It is not an estimate for real
/// inputs, which are neither independent nor centred.
struct NormPrediction {
  double R = 0;         ///< B²·norm
  double k_eps = 0;     ///< gaussian_k_eps(n, R, eps)
  double exponent = 0;  ///< C = max(0, 1 − R²/(2 log n)): sigma² = s²·log n gives 1 − s²/2
};
/// Computes the prediction in half a millisecond. Throws `usage` unless input_bound > 0, norm ≥ 0,
/// n ≥ 1 and 0 < eps < 1. Thread-safe.
[[nodiscard]] TAMIS_API NormPrediction predict_from_norm(double input_bound, double norm, double n,
                                                         double eps);

}  // namespace tamis::lab
