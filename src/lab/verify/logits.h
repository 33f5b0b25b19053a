// Rows of logits in f32 and f64, and how far those of f64 can be from the exact ones. keys·dim
// multiply-adds per row, across keys in vectors that the compiler makes: the sum of a key keeps its
// order.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "lab/verify/form.h"

namespace tamis::lab::verification {

/// Keys in a block of a transposed factor, and the lanes of the loops over a row.
inline constexpr std::int64_t lanes = 16;

/// k by blocks of `lanes` keys, each block column by column, the last one filled up with zeros.
template <class T>
class KeyBlocks {
 public:
  KeyBlocks(std::span<const T> keys, std::int64_t rows, std::int64_t dim);

  [[nodiscard]] std::int64_t padded() const { return blocks_ * lanes; }
  /// out[j] = Σ_c q_c·k_jc, from c = 0 on, rounded after every operation, for the blocks that hold
  /// the first `keys` keys.
  void multiply(std::span<const T> q, std::int64_t keys, T* out) const;

 private:
  std::int64_t dim_;
  std::int64_t blocks_;
  std::vector<T> transposed_;
};
extern template class KeyBlocks<float>;
extern template class KeyBlocks<double>;

/// |computed − exact| of a logit in f64 is at most (q_i + off_q_i/c)·(c·k_j + off_k_j) + floor,
/// where q_i, k_j are norms: derived in logits.cpp. Also covers the rounding of one addition of the
/// bound to the logit.
class Bounds {
 public:
  explicit Bounds(const Form& form);

  [[nodiscard]] double of_query(std::int64_t i) const;
  /// c·k_j + off_k_j, `lanes`-fold padded with zeros.
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
