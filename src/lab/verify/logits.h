// Rows of logits in f32 and f64, and bounds on the distance of those in f64 from the exact ones. A
// row costs keys·dim multiply-adds. The compiler vectorises across keys, so the sum of each key
// keeps its order.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "lab/verify/form.h"

namespace tamis::lab::verification {

/// The number of keys in a block of a transposed factor, and of lanes in the loops over a row.
inline constexpr std::int64_t lanes = 16;

/// k in blocks of `lanes` keys, each stored column by column. The last one is padded with zeros.
template <class T>
class KeyBlocks {
 public:
  KeyBlocks(std::span<const T> keys, std::int64_t rows, std::int64_t dim);

  [[nodiscard]] std::int64_t padded() const { return blocks_ * lanes; }
  /// out[j] = Σ_c q_c·k_jc, summed from c = 0 on and rounded after every operation, for every j in
  /// the blocks that hold the first `keys` keys.
  void multiply(std::span<const T> q, std::int64_t keys, T* out) const;

 private:
  std::int64_t dim_;
  std::int64_t blocks_;
  std::vector<T> transposed_;
};
extern template class KeyBlocks<float>;
extern template class KeyBlocks<double>;

/// Bounds on the error of logits in f64: |computed − exact| is at most
///   (q_i + off_q_i/c)·(c·k_j + off_k_j) + floor,
/// where q_i and k_j are norms. logits.cpp defines c and derives the bound, which also covers the
/// rounding of one addition of the bound to the logit.
class Bounds {
 public:
  explicit Bounds(const Form& form);

  /// q_i + off_q_i/c.
  [[nodiscard]] double of_query(std::int64_t i) const;
  /// c·k_j + off_k_j for every key, padded with zeros to a multiple of `lanes`.
  [[nodiscard]] std::span<const double> of_keys() const { return keys_; }
  [[nodiscard]] double floor() const { return floor_; }
  /// Whether the bounds of row i are finite, for all keys.
  [[nodiscard]] bool hold(std::int64_t i) const;

 private:
  const Form& form_;
  double c_;
  double floor_;
  double largest_ = 0;
  std::vector<double> keys_;
};

}  // namespace tamis::lab::verification
