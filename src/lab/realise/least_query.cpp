#include "lab/realise/least_query.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace tamis::lab::realisation {
namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();
/// A condition counts as met within this share of gap or spread: far above rounding and far below
/// what matters.
constexpr double tolerance = 1e-9;
/// A normal with less than this share of its length outside the span of the active normals counts
/// as lying in it.
constexpr double independent = 1e-9;

double dot(const double* x, const double* y, std::int64_t n) {
  double sum = 0;
  for (std::int64_t c = 0; c < n; ++c) sum += x[c] * y[c];
  return sum;
}

}  // namespace

LeastQuery::LeastQuery(std::int64_t dim)
    : dim_(dim),
      basis_(static_cast<std::size_t>(dim * dim)),
      triangle_(static_cast<std::size_t>(dim * dim)),
      multiplier_(static_cast<std::size_t>(dim + 1)),
      normal_(static_cast<std::size_t>(dim)),
      direction_(static_cast<std::size_t>(dim)),
      coefficient_(static_cast<std::size_t>(dim)),
      change_(static_cast<std::size_t>(dim)) {}

LeastQuery::Condition LeastQuery::worst(const RowProblem& problem, std::span<const double> q) {
  const auto logit = [&](std::int64_t j) {
    return dot(q.data(), problem.keys.row(j).data(), dim_);
  };
  Condition result;
  std::int64_t least = problem.support[0];
  double least_logit = infinity;
  double low = infinity;
  double high = -infinity;
  std::int64_t low_at = 0;
  std::int64_t high_at = 0;
  for (std::size_t t = 0; t < problem.support.size(); ++t) {
    const double s = logit(problem.support[t]);
    if (s < least_logit) {
      least_logit = s;
      least = problem.support[t];
    }
    const double u = problem.log.empty() ? 0 : s - problem.log[t];
    if (u < low) {
      low = u;
      low_at = static_cast<std::int64_t>(t);
    }
    if (u > high) {
      high = u;
      high_at = static_cast<std::int64_t>(t);
    }
  }
  double most = -infinity;
  for (const std::int32_t j : problem.others) {
    const double s = logit(j);
    if (s > most) {
      most = s;
      result = {least, j, problem.gap, 0};
    }
  }
  result.violation = (most - least_logit) / problem.gap + 1;
  if (problem.log.empty()) return result;
  const double spread_violation = (high - low) / problem.spread - 1;
  if (spread_violation > result.violation)
    // s_low − s_high ≥ log_low − log_high − spread
    result = {problem.support[low_at], problem.support[high_at],
              problem.log[low_at] - problem.log[high_at] - problem.spread, spread_violation};
  return result;
}

/// Sets direction to the normal without its part in the span of the active normals; twice, against
/// cancellation.
void LeastQuery::project() {
  direction_ = normal_;
  std::fill(coefficient_.begin(), coefficient_.end(), 0.0);
  for (int pass = 0; pass < 2; ++pass)
    for (std::int64_t a = 0; a < active_; ++a) {
      const double* b = basis_.data() + a * dim_;
      const double x = dot(b, direction_.data(), dim_);
      coefficient_[a] += x;
      for (std::int64_t c = 0; c < dim_; ++c) direction_[c] -= x * b[c];
    }
  for (std::int64_t a = active_ - 1; a >= 0; --a) {
    double x = coefficient_[a];
    for (std::int64_t b = a + 1; b < active_; ++b) x -= triangle_[b * dim_ + a] * change_[b];
    change_[a] = x / triangle_[a * dim_ + a];
  }
}

/// Adds the normal that was projected last to the active ones.
void LeastQuery::append() {
  const double length = std::sqrt(dot(direction_.data(), direction_.data(), dim_));
  for (std::int64_t c = 0; c < dim_; ++c) basis_[active_ * dim_ + c] = direction_[c] / length;
  for (std::int64_t a = 0; a < active_; ++a) triangle_[active_ * dim_ + a] = coefficient_[a];
  triangle_[active_ * dim_ + active_] = length;
  ++active_;
}

/// Removes an active normal: a column of the triangle, which Givens rotations make upper triangular
/// again.
void LeastQuery::drop(std::int64_t place) {
  for (std::int64_t a = place + 1; a < active_; ++a) {
    std::copy_n(triangle_.begin() + a * dim_, a + 1, triangle_.begin() + (a - 1) * dim_);
    multiplier_[a - 1] = multiplier_[a];
  }
  multiplier_[active_ - 1] = multiplier_[active_];
  --active_;
  for (std::int64_t a = place; a < active_; ++a) {
    const double x = triangle_[a * dim_ + a];
    const double y = triangle_[a * dim_ + a + 1];
    const double length = std::hypot(x, y);
    const double cosine = x / length;
    const double sine = y / length;
    const auto rotate = [&](double& first, double& second) {
      const double turned = cosine * first + sine * second;
      second = cosine * second - sine * first;
      first = turned;
    };
    for (std::int64_t b = a; b < active_; ++b)
      rotate(triangle_[b * dim_ + a], triangle_[b * dim_ + a + 1]);
    for (std::int64_t c = 0; c < dim_; ++c)
      rotate(basis_[a * dim_ + c], basis_[(a + 1) * dim_ + c]);
  }
}

/// Moves q to the shortest query that meets this condition as well as the active ones, and drops
/// active conditions that block the way. Returns false if there is no such query.
bool LeastQuery::add(const RowProblem& problem, const Condition& condition, std::span<double> q) {
  const double* plus = problem.keys.row(condition.plus).data();
  const double* minus = problem.keys.row(condition.minus).data();
  for (std::int64_t c = 0; c < dim_; ++c) normal_[c] = plus[c] - minus[c];
  const double square = dot(normal_.data(), normal_.data(), dim_);
  multiplier_[active_] = 0;
  for (;;) {
    project();
    std::int64_t blocking = -1;
    double step = infinity;
    for (std::int64_t a = 0; a < active_; ++a)
      if (change_[a] > 0 && multiplier_[a] / change_[a] < step) {
        step = multiplier_[a] / change_[a];
        blocking = a;
      }
    const double out = dot(direction_.data(), direction_.data(), dim_);
    const bool can_move = active_ < dim_ && out > independent * independent * square;
    const double full =
        can_move ? (condition.bound - dot(normal_.data(), q.data(), dim_)) / out : infinity;
    if (step == infinity && full == infinity) return false;
    const bool reached = full <= step;
    if (reached) step = std::max(full, 0.0);
    if (can_move)
      for (std::int64_t c = 0; c < dim_; ++c) q[c] += step * direction_[c];
    for (std::int64_t a = 0; a < active_; ++a) multiplier_[a] -= step * change_[a];
    multiplier_[active_] += step;
    if (reached) {
      append();
      return true;
    }
    drop(blocking);
  }
}

bool LeastQuery::solve(const RowProblem& problem, std::span<double> q) {
  std::fill(q.begin(), q.end(), 0.0);
  active_ = 0;
  // Every full step makes q longer, so no active set returns; the limit only guards against
  // rounding.
  const std::int64_t most_steps = 50 * (dim_ + 1);
  for (std::int64_t step = 0; step < most_steps; ++step) {
    const Condition condition = worst(problem, q);
    if (!(condition.violation > tolerance)) return true;
    if (!add(problem, condition, q)) return false;
  }
  return false;
}

}  // namespace tamis::lab::realisation
