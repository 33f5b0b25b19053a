// Queries and keys made from one x of fewer than twice their columns, in normal form. With p =
// 2·dim − hidden, u ∈ R^p, v and b ∈ R^(dim − p) and a p × p matrix B,
//   x_i = (u_i, v_i, b_i),  q_i = (u_i, v_i),  k_j = (B·u_j, b_j).
// Any w_q and w_k in general position take this form after a change of basis of x and one of the
// columns of q and k.
#pragma once

#include <cstdint>
#include <vector>

#include <tamis/lab/pattern.h>
#include <tamis/lab/witness.h>

namespace tamis::lab::decision {

struct SharedForm {
  std::int64_t n = 0;
  std::int64_t dim = 0;
  std::int64_t hidden = 0;
  /// The columns of x (u, v, b), each of n numbers; then B by rows; then a threshold for every row
  /// of the pattern.
  std::vector<double> numbers;

  SharedForm(std::int64_t n_, std::int64_t dim_, std::int64_t hidden_)
      : n(n_), dim(dim_), hidden(hidden_), numbers(static_cast<std::size_t>(thresholds() + n_)) {}

  /// p, the number of columns of x that q and k share.
  [[nodiscard]] std::int64_t both() const { return 2 * dim - hidden; }
  /// Where B begins in `numbers`.
  [[nodiscard]] std::int64_t b() const { return n * hidden; }
  /// Where the thresholds begin in `numbers`.
  [[nodiscard]] std::int64_t thresholds() const { return b() + both() * both(); }

  /// The witness x [n, hidden], w_q and w_k [hidden, dim], rounded to `dtype`, in which all values
  /// must be finite.
  [[nodiscard]] Witness witness(DType dtype) const;
};

/// The squared hinge ½·Σ max(0, 1 − s_ij·(L_ij − θ_i))² over the rows that have a zero, with s = +1
/// for nonzeros, −1 for zeros and θ_i the threshold of row i. Logits may grow, so the hinge can be
/// made 0 if and only if the pattern has a witness of this form. Holds n² signs. Not thread-safe:
/// each thread needs its own.
class SharedHinge {
 public:
  explicit SharedHinge(const Pattern& pattern);

  /// Computes the gradient with respect to form.numbers and returns the least s_ij·(L_ij − θ_i). At
  /// most 6·n²·dim flops; allocates only the first time.
  double slope(const SharedForm& form, std::vector<double>& gradient);

  /// Whether all nonzeros of every row are above its zeros, in f64, regardless of the thresholds.
  bool separated(const SharedForm& form);

 private:
  /// Column `a` of the keys, n numbers.
  [[nodiscard]] const double* key(const SharedForm& form, std::int64_t a) const {
    const std::int64_t p = form.both();
    return a < p ? turned_.data() + a * n_ : form.numbers.data() + (form.dim + a - p) * n_;
  }
  void turn_keys(const SharedForm& form);
  void logits_of(const SharedForm& form, std::int64_t row, double offset);

  std::int64_t n_;
  std::vector<double> sign_;          // n × n
  std::vector<std::int64_t> asking_;  // rows that have a zero; others set no condition
  std::vector<double> logits_;        // of one row, then their derivatives
  std::vector<double> turned_;        // B·u, stored by columns
  std::vector<double> turned_slope_;
};

}  // namespace tamis::lab::decision
