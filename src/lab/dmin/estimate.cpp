// Estimates p(d) by counting accepted draws, ascending in d, for every matrix, and derives the laws
// of the least d. Here d is the paper's: d = 2m. The cost is `draws` draws for every d and matrix.
#include <algorithm>
#include <cmath>
#include <memory>

#include <tamis/lab/dmin.h>

#include "core/fail.h"
#include "lab/dmin/grid.h"
#include "lab/realise/jl/search.h"

namespace tamis::lab {
namespace {

/// A target matrix and the search that draws for it.
struct Matrix {
  realisation::JlTarget target;
  std::unique_ptr<realisation::JlSearch> search;
};

void check(const EstimateOptions& options, std::int64_t n) {
  if (options.matrices < 1)
    core::fail(Code::usage, "{} matrices are asked for; give at least 1", options.matrices);
  constexpr std::int64_t most = std::int64_t{1} << 40;  // draw numbers have 40 bits
  if (options.draws < 0 || options.draws > most)
    core::fail(Code::usage, "{} draws per d are asked for; give 1 to 2^40, or 0 for 20·n",
               options.draws);
  if (options.Q.empty() || !std::is_sorted(options.Q.begin(), options.Q.end()))
    core::fail(Code::usage, "Q must be given as one or more ascending numbers");
  for (const double Q : options.Q) (void)dmin::draws_of(Q, n);
  if (!(options.delta > 0 && options.delta < 1))
    core::fail(Code::usage, "delta is {}; it must lie between 0 and 1", options.delta);
}

}  // namespace

DminEstimate estimate_dmin(const DminProblem& problem, const EstimateOptions& options,
                           const ProgressCallback& progress) {
  std::vector<std::unique_ptr<Matrix>> matrices;
  for (std::int64_t i = 0; i < std::max<std::int64_t>(1, options.matrices); ++i) {
    auto matrix = std::make_unique<Matrix>();
    matrix->target = realisation::jl_target(problem.pattern(i), problem.conditions());
    matrix->search = std::make_unique<realisation::JlSearch>(
        matrix->target, problem.draw_seed(i), numbers::Purpose::dmin, options.threads);
    matrices.push_back(std::move(matrix));
  }
  check(options, problem.n);
  const dmin::DminGrid grid = dmin::dmin_grid(problem.n, options.step, options.from);
  const std::int64_t draws = options.draws > 0 ? options.draws : 20 * problem.n;
  const auto least = static_cast<double>(dmin::draws_of(options.Q.front(), problem.n));

  DminEstimate result;
  result.matrices.resize(matrices.size());
  std::vector<double> alive(matrices.size(), 1);
  const auto total = static_cast<double>(grid.size()) * static_cast<double>(draws) *
                     static_cast<double>(options.matrices);
  double done = 0;
  for (std::int64_t i = 0; i < grid.size(); ++i) {
    const std::int64_t d = grid.at(i);
    Acceptance pooled{d, 0, 0};
    double left = 0;
    for (std::size_t a = 0; a < matrices.size(); ++a) {
      ProgressCallback told;
      if (progress) told = [&](double more, double) { return progress(done + more, total); };
      const Acceptance seen{d, draws, matrices[a]->search->count(d / 2, {0, draws}, told)};
      done += static_cast<double>(draws);
      result.matrices[a].push_back(seen);
      pooled.draws += seen.draws;
      pooled.accepted += seen.accepted;
      const double p = static_cast<double>(seen.accepted) / static_cast<double>(seen.draws);
      alive[a] *= std::pow(1 - p, least);
      left = std::max(left, alive[a]);
    }
    result.pooled.push_back(pooled);
    if (left < 1e-6) break;
  }
  // For one permutation the law of a draw does not depend on the matrix, so all counts estimate the
  // same p(d).
  const bool alike = problem.k == 1 && !problem.causal;
  const std::vector<std::vector<Acceptance>> all{result.pooled};
  for (const double Q : options.Q)
    result.laws.push_back(dmin_law(alike ? all : result.matrices, problem.n, Q, options.delta,
                                   options.step, grid.size()));
  return result;
}

}  // namespace tamis::lab
