#include "lab/decide/shared_form.h"

#include <algorithm>
#include <limits>

#include "lab/realise/seal.h"

namespace tamis::lab::decision {
namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();

/// Uses four partial sums, so that the order is fixed and the additions overlap.
double dot(const double* a, const double* b, std::int64_t n) {
  double sum[4] = {};
  std::int64_t j = 0;
  for (; j + 4 <= n; j += 4)
    for (int lane = 0; lane < 4; ++lane) sum[lane] += a[j + lane] * b[j + lane];
  for (; j < n; ++j) sum[0] += a[j] * b[j];
  return (sum[0] + sum[1]) + (sum[2] + sum[3]);
}

void add_scaled(double* to, const double* from, double factor, std::int64_t n) {
  for (std::int64_t j = 0; j < n; ++j) to[j] += factor * from[j];
}

}  // namespace

Witness SharedForm::witness(DType dtype) const {
  std::vector<double> x(static_cast<std::size_t>(n * hidden));
  for (std::int64_t i = 0; i < n; ++i)
    for (std::int64_t c = 0; c < hidden; ++c) x[i * hidden + c] = numbers[c * n + i];
  std::vector<double> w_q(static_cast<std::size_t>(hidden * dim), 0.0);
  std::vector<double> w_k(w_q);
  for (std::int64_t a = 0; a < dim; ++a) w_q[a * dim + a] = 1;
  const std::int64_t p = both();
  for (std::int64_t a = 0; a < p; ++a)
    for (std::int64_t c = 0; c < p; ++c) w_k[c * dim + a] = numbers[b() + a * p + c];
  for (std::int64_t a = p; a < dim; ++a) w_k[(dim + a - p) * dim + a] = 1;
  Witness witness;
  witness.x = realisation::tensor_of("x", n, hidden, x, dtype);
  witness.w_q = realisation::tensor_of("w_q", hidden, dim, w_q, dtype);
  witness.w_k = realisation::tensor_of("w_k", hidden, dim, w_k, dtype);
  return witness;
}

SharedHinge::SharedHinge(const Pattern& pattern)
    : n_(pattern.rows),
      sign_(static_cast<std::size_t>(n_ * n_), -1.0),
      logits_(static_cast<std::size_t>(n_)) {
  for (std::int64_t row = 0; row < n_; ++row) {
    const auto columns = pattern.columns_of(row);
    for (const std::int64_t column : columns) sign_[row * n_ + column] = 1;
    if (std::ssize(columns) < n_) asking_.push_back(row);
  }
}

void SharedHinge::turn_keys(const SharedForm& form) {
  const std::int64_t p = form.both();
  turned_.assign(static_cast<std::size_t>(p * n_), 0.0);
  for (std::int64_t a = 0; a < p; ++a)
    for (std::int64_t c = 0; c < p; ++c)
      add_scaled(turned_.data() + a * n_, form.numbers.data() + c * n_,
                 form.numbers[form.b() + a * p + c], n_);
}

void SharedHinge::logits_of(const SharedForm& form, std::int64_t row, double offset) {
  std::ranges::fill(logits_, offset);
  for (std::int64_t a = 0; a < form.dim; ++a)
    add_scaled(logits_.data(), key(form, a), form.numbers[a * n_ + row], n_);
}

double SharedHinge::slope(const SharedForm& form, std::vector<double>& gradient) {
  const std::int64_t p = form.both();
  const std::vector<double>& numbers = form.numbers;
  turn_keys(form);
  gradient.assign(numbers.size(), 0.0);
  turned_slope_.assign(turned_.size(), 0.0);
  double worst = infinity;
  for (const std::int64_t row : asking_) {
    const double* sign = sign_.data() + row * n_;
    double* pull = logits_.data();
    logits_of(form, row, -numbers[form.thresholds() + row]);
    double least = infinity;
    double sum = 0;
    for (std::int64_t j = 0; j < n_; ++j) {
      const double margin = sign[j] * pull[j];
      least = std::min(least, margin);
      pull[j] = -sign[j] * std::max(0.0, 1 - margin);
      sum += pull[j];
    }
    worst = std::min(worst, least);
    if (least >= 1) continue;
    gradient[form.thresholds() + row] = -sum;
    for (std::int64_t a = 0; a < form.dim; ++a) {
      double* key_slope =
          a < p ? turned_slope_.data() + a * n_ : gradient.data() + (form.dim + a - p) * n_;
      gradient[a * n_ + row] += dot(pull, key(form, a), n_);
      add_scaled(key_slope, pull, numbers[a * n_ + row], n_);
    }
  }
  for (std::int64_t a = 0; a < p; ++a)
    for (std::int64_t c = 0; c < p; ++c) {
      add_scaled(gradient.data() + c * n_, turned_slope_.data() + a * n_,
                 numbers[form.b() + a * p + c], n_);
      gradient[form.b() + a * p + c] =
          dot(turned_slope_.data() + a * n_, numbers.data() + c * n_, n_);
    }
  return worst;
}

bool SharedHinge::separated(const SharedForm& form) {
  turn_keys(form);
  return std::ranges::all_of(asking_, [&](std::int64_t row) {
    logits_of(form, row, 0);
    double lowest_nonzero = infinity;
    double highest_zero = -infinity;
    for (std::int64_t j = 0; j < n_; ++j)
      if (sign_[row * n_ + j] > 0)
        lowest_nonzero = std::min(lowest_nonzero, logits_[j]);
      else
        highest_zero = std::max(highest_zero, logits_[j]);
    return lowest_nonzero > highest_zero;
  });
}

}  // namespace tamis::lab::decision
