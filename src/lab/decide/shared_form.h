// Queries and keys made from one x of fewer than twice their columns, in normal form: with p =
// 2·dim − hidden,
//   x_i = (u_i, v_i, b_i),  q_i = (u_i, v_i),  k_j = (B·u_j, b_j),  u ∈ R^p, v and b ∈ R^(dim − p),
//   B p × p.
// Any w_q and w_k in general position come to this by a change of basis of x and one of the columns
// of q and k.
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
  /// The columns of x (u, v, b), each of n numbers; B by rows; a threshold for every row of the
  /// pattern.
  std::vector<double> numbers;

  SharedForm(std::int64_t n_, std::int64_t dim_, std::int64_t hidden_)
      : n(n_), dim(dim_), hidden(hidden_), numbers(static_cast<std::size_t>(thresholds() + n_)) {}

  [[nodiscard]] std::int64_t both() const {
    return 2 * dim - hidden;
  }                                                            ///< p: columns that q and k share
  [[nodiscard]] std::int64_t b() const { return n * hidden; }  ///< where B begins
  [[nodiscard]] std::int64_t thresholds() const { return b() + both() * both(); }

  /// x [n, hidden], w_q and w_k [hidden, dim], rounded to `dtype`; values must be finite in it.
  [[nodiscard]] Witness witness(DType dtype) const;
};

/// The squared hinge ½·Σ max(0, 1 − s_ij·(L_ij − θ_i))² over the rows that have a zero, s = +1 for
/// nonzeros and −1 for zeros: logits may grow, so it can be made 0 if and only if the pattern has a
/// witness of this form. Holds n² signs. One for each thread.
class SharedHinge {
 public:
  explicit SharedHinge(const Pattern& pattern);

  /// Its gradient in form.numbers, and the least s_ij·(L_ij − θ_i). 6·n²·dim flops at most;
  /// allocates nothing but the first time.
  double slope(const SharedForm& form, std::vector<double>& gradient);

  /// Whether all nonzeros of every row are above its zeros, in f64, whatever the thresholds.
  bool separated(const SharedForm& form);

 private:
  /// Column `a` of the keys.
  [[nodiscard]] const double* key(const SharedForm& form, std::int64_t a) const {
    const std::int64_t p = form.both();
    return a < p ? turned_.data() + a * n_ : form.numbers.data() + (form.dim + a - p) * n_;
  }
  void turn_keys(const SharedForm& form);
  void logits_of(const SharedForm& form, std::int64_t row, double offset);

  std::int64_t n_;
  std::vector<double> sign_;          // n × n
  std::vector<std::int64_t> asking_;  // rows that have a zero
  std::vector<double> logits_;        // of a row, then what pulls them
  std::vector<double> turned_;        // B·u, by column
  std::vector<double> turned_slope_;
};

}  // namespace tamis::lab::decision
