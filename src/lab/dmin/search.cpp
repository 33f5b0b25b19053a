// The ascending search for the least d, and the functions of one d and one range of draws on which
// it is built. Here d is the paper's: d = 2m.
#include <algorithm>
#include <cmath>

#include <tamis/lab/dmin.h>
#include <tamis/lab/generate.h>

#include "core/fail.h"
#include "lab/dmin/grid.h"
#include "lab/realise/jl/search.h"

namespace tamis::lab {
namespace {

numbers::Stream matrix_stream(std::uint64_t seed, std::int64_t matrix) {
  // Draws use stream rows from zero up; streams of matrices have the highest bit set.
  return {seed, numbers::Purpose::dmin,
          (std::uint64_t{1} << 63) | static_cast<std::uint64_t>(matrix)};
}

/// The rank m = d/2 of a draw at the paper's d. Throws `usage` unless d is even and in 2 … 2n.
std::int64_t rank_of(std::int64_t d, std::int64_t n) {
  if (d < 2 || d > 2 * n || d % 2 != 0)
    core::fail(Code::usage, "d is {}; it must be even, at least 2 and at most 2n = {}", d, 2 * n);
  return d / 2;
}

realisation::DrawRange range_of(Draws draws) {
  constexpr std::int64_t most = std::int64_t{1} << 40;  // draw numbers have 40 bits
  if (draws.first < 0 || draws.count < 0 || draws.first > most || draws.count > most - draws.first)
    core::fail(Code::usage, "draws {} and {} more are asked for; numbers may be 0 to 2^40",
               draws.first, draws.count);
  return {draws.first, draws.count};
}

/// P(X ≤ x) for the number X of the first success, given that it is at most N. It tends to x/N
/// (uniform) as p tends to 0.
double first_success_at_most(double x, double N, double p) {
  if (p <= 0) return x / N;
  if (p >= 1) return x >= 1 ? 1 : 0;
  return std::expm1(x * std::log1p(-p)) / std::expm1(N * std::log1p(-p));
}

/// The p in 0 … 1 at which f, which rises with p, passes `level`; 0 or 1 if it does not pass it.
template <class F>
double solve_for_p(F f, double level) {
  double low = 0;
  double high = 1;
  if (f(low) >= level) return low;
  for (int step = 0; step < 200 && low < high; ++step) {
    const double middle = step < 100 && low == 0 ? high * 1e-3 : 0.5 * (low + high);
    if (middle <= low || middle >= high) break;
    (f(middle) < level ? low : high) = middle;
  }
  return 0.5 * (low + high);
}

/// The interval of p for which a first success at draw `count` of at most N is not a rare event,
/// with δ/2 on either side.
ProbabilityInterval from_first_success(double count, double N, double delta) {
  ProbabilityInterval result;
  result.low = solve_for_p([&](double p) { return first_success_at_most(count, N, p); }, delta / 2);
  result.high = count > 1
                    ? solve_for_p([&](double p) { return first_success_at_most(count - 1, N, p); },
                                  1 - delta / 2)
                    : 1;
  return result;
}

}  // namespace

Conditions DminProblem::conditions() const {
  return {.eps1 = eps1, .eps2 = eps2, .causal = causal};
}

Pattern DminProblem::pattern(std::int64_t matrix) const {
  if (n > realisation::most_jl_rows)
    core::fail(Code::usage, "n is {}; it may be at most {}", n, realisation::most_jl_rows);
  const std::uint64_t own = matrix_stream(seed, matrix).bits(0);
  return causal ? causal_pattern(n, k, gamma, own) : permutations_pattern(n, k, gamma, own);
}

std::uint64_t DminProblem::draw_seed(std::int64_t matrix) const {
  return matrix_stream(seed, matrix).bits(1);
}

std::optional<std::int64_t> first_accepted(const Pattern& pattern, const Conditions& conditions,
                                           std::int64_t d, Draws draws, std::uint64_t seed,
                                           int threads, const ProgressCallback& progress) {
  const realisation::JlTarget target = realisation::jl_target(pattern, conditions);
  realisation::JlSearch search(target, seed, numbers::Purpose::dmin, threads);
  const auto found = search.first(rank_of(d, target.n), range_of(draws), progress);
  if (!found) return std::nullopt;
  return found->draw;
}

DminSearch search_dmin(const Pattern& pattern, const Conditions& conditions, std::uint64_t seed,
                       const SearchOptions& options, const ProgressCallback& progress) {
  const realisation::JlTarget target = realisation::jl_target(pattern, conditions);
  const std::int64_t n = target.n;
  const dmin::DminGrid grid = dmin::dmin_grid(n, options.step, options.from);
  const std::int64_t draws = dmin::draws_of(options.Q, n);
  realisation::JlSearch search(target, seed, numbers::Purpose::dmin, options.threads);
  DminSearch result;
  const auto total = static_cast<double>(grid.size() * draws);
  for (std::int64_t i = 0; i < grid.size(); ++i) {
    const auto before = static_cast<double>(result.draws);
    ProgressCallback told;
    if (progress) told = [&](double done, double) { return progress(before + done, total); };
    const auto found = search.first(grid.at(i) / 2, {0, draws}, told);
    result.draws += found ? found->draw + 1 : draws;
    if (!found) continue;
    result.d = grid.at(i);
    result.draws_at_d = found->draw + 1;
    const auto count = static_cast<double>(result.draws_at_d);
    result.p = 1 / count;
    result.interval = from_first_success(count, static_cast<double>(draws), 0.05);
    break;
  }
  return result;
}

}  // namespace tamis::lab
