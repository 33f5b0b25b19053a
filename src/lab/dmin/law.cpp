// The law of the least d from acceptance counts, with a band that holds for all d and Q at once.
// Here d is the paper's: d = 2m.
#include <algorithm>
#include <cmath>

#include <tamis/lab/dmin.h>

#include "core/fail.h"
#include "lab/dmin/grid.h"
#include "lab/stats/special.h"

namespace tamis::lab {
namespace {

/// (1 − p)^draws, also where p = 1.
double missed(double p, double draws) { return p < 1 ? std::exp(draws * std::log1p(-p)) : 0; }

/// The mean of a Poisson variable X for which P(X ≤ seen) = delta.
double poisson_upper(std::int64_t seen, double delta) {
  const auto x = static_cast<double>(seen);
  double low = x;
  double high = x + 20 * std::sqrt(x + 1) + 2 * std::log(1 / delta) + 10;
  for (int step = 0; step < 60; ++step) {
    const double mean = 0.5 * (low + high);
    double term = 1;  // the sum runs down from X = seen; each term follows from the one before
    double sum = 0;
    for (double i = x; i >= 0 && term > 1e-17 * sum; --i) {
      sum += term;
      term *= i / mean;
    }
    const double log_p = x * std::log(mean) - mean - stats::log_gamma(x + 1) + std::log(sum);
    (log_p > std::log(delta) ? low : high) = mean;
  }
  return high;
}

/// The least d whose value in `at_most` reaches `share`, or 0 if none does.
std::int64_t quantile(const std::vector<Acceptance>& grid, const std::vector<double>& at_most,
                      double share) {
  const auto reached =
      std::find_if(at_most.begin(), at_most.end(), [&](double x) { return x >= share; });
  return reached == at_most.end() ? 0 : grid[static_cast<std::size_t>(reached - at_most.begin())].d;
}

}  // namespace

ProbabilityInterval clopper_pearson(std::int64_t accepted, std::int64_t draws, double delta) {
  if (draws < 1 || accepted < 0 || accepted > draws)
    core::fail(Code::usage,
               "{} of {} draws are said to be accepted; it must be 0 of 1 to all of them", accepted,
               draws);
  if (!(delta > 0 && delta < 1))
    core::fail(Code::usage, "delta is {}; it must lie between 0 and 1", delta);
  const auto [low, high] = stats::clopper_pearson_bounds(accepted, draws, delta / 2);
  return {low, high};
}

DminLaw dmin_law(std::span<const std::vector<Acceptance>> matrices, std::int64_t n, double Q,
                 double delta, std::int64_t step, std::int64_t tried) {
  if (matrices.empty() || matrices.front().empty())
    core::fail(Code::usage, "a law of the least d needs counts for at least one matrix and one d");
  if (step < 1)
    core::fail(Code::usage,
               "a law of the least d on a grid of step {} was asked for; give at least 1", step);
  const std::vector<Acceptance>& grid = matrices.front();
  const std::size_t size = grid.size();
  const auto draws = static_cast<double>(dmin::draws_of(Q, n));
  const auto count = static_cast<double>(matrices.size());
  // Half of δ is for the intervals of the single p(d), the other half for those of their sums.
  const double each =
      0.5 * delta / (count * static_cast<double>(std::max(tried, static_cast<std::int64_t>(size))));
  DminLaw law;
  law.Q = Q;
  law.probability.assign(size, 0);
  law.at_most.assign(size, 0);
  law.low.assign(size, 0);
  law.high.assign(size, 0);
  for (const std::vector<Acceptance>& matrix : matrices) {
    if (matrix.size() != size)
      core::fail(Code::usage, "the matrices of a law of the least d must share one grid");
    double alive = 1;
    double alive_low = 1;
    double alive_high = 1;
    std::int64_t accepted = 0;
    std::int64_t fewest = matrix.front().draws;
    for (std::size_t i = 0; i < size; ++i) {
      if (matrix[i].d != grid[i].d)
        core::fail(Code::usage, "the matrices of a law of the least d must share one grid");
      const ProbabilityInterval p = clopper_pearson(matrix[i].accepted, matrix[i].draws, each);
      if (i == 0) {
        const auto skipped = grid[0].d / step - 1;
        law.window_error += std::min(1.0, draws * static_cast<double>(skipped) * p.high) / count;
      }
      const double before = alive;
      alive *= missed(
          static_cast<double>(matrix[i].accepted) / static_cast<double>(matrix[i].draws), draws);
      alive_low *= missed(p.low, draws);
      alive_high *= missed(p.high, draws);
      accepted += matrix[i].accepted;
      fewest = std::min(fewest, matrix[i].draws);
      const double sum = poisson_upper(accepted, each) / static_cast<double>(fewest);
      const double alive_by_sum = missed(std::min(1.0, sum), draws);
      law.probability[i] += (before - alive) / count;
      law.at_most[i] += (1 - alive) / count;
      law.low[i] += (1 - alive_low) / count;
      law.high[i] += (1 - std::max(alive_high, alive_by_sum)) / count;
    }
  }
  for (double& x : law.high) x = std::min(1.0, x + law.window_error);
  law.median = quantile(grid, law.at_most, 0.5);
  law.median_low = quantile(grid, law.high, 0.5);
  law.median_high = quantile(grid, law.low, 0.5);
  law.p05 = quantile(grid, law.at_most, 0.05);
  law.p95 = quantile(grid, law.at_most, 0.95);
  return law;
}

}  // namespace tamis::lab
