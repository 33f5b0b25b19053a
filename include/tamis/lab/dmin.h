// The least d at which the paper's random construction finds a pattern within Q·n redraws (its
// Figures 3 and 4). Every d in this header is the paper's: it is even, and d = 2m for queries and
// keys of m columns. Elsewhere a dimension (`dim`, d_min) is m. n is the number of rows of the
// pattern.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include <tamis/export.h>
#include <tamis/lab/pattern.h>
#include <tamis/lab/witness.h>
#include <tamis/progress.h>

namespace tamis::lab {

/// The paper's random target patterns, numbered by `matrix`.
struct DminProblem {
  std::int64_t n = 0;
  std::int64_t k = 1;
  double gamma = 1;
  double eps1 = 0.5;
  double eps2 = 1;
  bool causal = false;
  std::uint64_t seed = 0;

  [[nodiscard]] TAMIS_API Conditions conditions() const;
  /// Pattern number `matrix`: `permutations_pattern`, or `causal_pattern` if causal, with a seed
  /// made from `seed` and `matrix`.
  [[nodiscard]] TAMIS_API Pattern pattern(std::int64_t matrix) const;
  /// The seed of the draws for that pattern.
  [[nodiscard]] TAMIS_API std::uint64_t draw_seed(std::int64_t matrix) const;
};

/// A range of draws, numbers first … first + count − 1. Each draw is a function of (pattern,
/// conditions, d, seed, number) alone, so a range can be split, computed in any place and combined
/// again.
struct Draws {
  std::int64_t first = 0;
  std::int64_t count = 0;
};
/// The number of the first accepted draw of the range, or nothing. A draw is accepted if (23) and
/// (24) hold in f64, and in f32 up to its rounding. The result does not depend on the number of
/// threads; `threads` = 0 takes every core.
///
/// Expected cost per draw: microseconds where rows fail readily, about n·d²/4 multiply-adds where
/// they do not. Memory: n·d floats per thread. Throws `usage` for an odd d, a d outside 2 … 2n, and
/// conditions that are weak or outside their range; `input` for a pattern that is not square, or
/// not causal where it must be. Concurrent calls are safe.
TAMIS_API std::optional<std::int64_t> first_accepted(const Pattern& pattern,
                                                     const Conditions& conditions, std::int64_t d,
                                                     Draws draws, std::uint64_t seed,
                                                     int threads = 0,
                                                     const ProgressCallback& progress = {});

/// A confidence interval for a probability. A share of 1 − δ of the intervals made this way
/// contains it.
struct ProbabilityInterval {
  double low = 0;
  double high = 1;
};
/// Clopper and Pearson's exact interval for a probability, after `accepted` of `draws` draws were
/// accepted.
TAMIS_API ProbabilityInterval clopper_pearson(std::int64_t accepted, std::int64_t draws,
                                              double delta);

struct SearchOptions {
  double Q = 1;           ///< each d gets round(Q·n) draws
  std::int64_t step = 8;  ///< spacing of the grid of d, even
  std::int64_t from = 0;  ///< first d of the grid; 0: the step
  int threads = 0;
};
struct DminSearch {
  std::int64_t d = 0;           ///< the least accepted d of the grid; 0 if there is none up to 2n
  std::int64_t draws = 0;       ///< total, up to and including the accepted one
  std::int64_t draws_at_d = 0;  ///< those at d
  double p = 0;  ///< acceptance probability at d: 1/draws_at_d, the most likely value
  ProbabilityInterval interval;  ///< 95 % interval of p, given that a draw was accepted at d
};
/// Searches d in ascending order, as the paper does. Progress counts draws; the total is the number
/// of draws up to d = 2n.
TAMIS_API DminSearch search_dmin(const Pattern& pattern, const Conditions& conditions,
                                 std::uint64_t seed, const SearchOptions& options = {},
                                 const ProgressCallback& progress = {});

/// The counts at one d for one matrix.
struct Acceptance {
  std::int64_t d = 0;
  std::int64_t draws = 0;
  std::int64_t accepted = 0;
};

/// The law of D, the least accepted d, for one Q. For one matrix it is, with N = round(Q·n),
///   P(D = d) = [1 − (1 − p(d))^N]·∏_{d' < d}(1 − p(d'))^N
/// and it is averaged over the matrices. (Averaging p instead would be wrong, because the law is
/// not linear in p.)
///
/// The band contains the true law for these matrices, for all d and all Q at once, with the stated
/// confidence: it takes each p at the ends of confidence intervals whose error probabilities add up
/// to at most δ. If the grid starts above its step, `window_error` bounds the error that the
/// missing d cause in any probability; it assumes that p(d) at these smaller d is at most the upper
/// end of the interval at the first d of the grid.
struct DminLaw {
  double Q = 1;
  std::vector<double> probability;  ///< P(D = d), by d of the grid
  std::vector<double> at_most;      ///< P(D ≤ d)
  std::vector<double> low, high;    ///< the confidence band of `at_most`
  std::int64_t median = 0;          ///< as d; this and the next four are 0 if beyond the grid
  std::int64_t median_low = 0;      ///< with the stated confidence the median is at least this
  std::int64_t median_high = 0;     ///< and at most this
  std::int64_t p05 = 0, p95 = 0;    ///< quantiles of the least d
  double window_error = 0;
};
/// The law of the least d that follows from acceptance counts on a grid of d of this step. Every
/// matrix must have the same grid. `delta` is 1 − confidence. `tried` is the number of d that the
/// grid could have had; the error probability δ is divided among them.
TAMIS_API DminLaw dmin_law(std::span<const std::vector<Acceptance>> matrices, std::int64_t n,
                           double Q, double delta, std::int64_t step, std::int64_t tried);

struct EstimateOptions {
  std::int64_t matrices = 1;
  /// Draws for every d and matrix; 0 takes 20·n, which bounds the median on both sides.
  std::int64_t draws = 0;
  std::int64_t step = 8;                          ///< spacing of the grid of d, even
  std::int64_t from = 0;                          ///< first d of the grid; 0: the step
  std::vector<double> Q{0.1, 0.2, 0.5, 1, 2, 5};  ///< ascending
  double delta = 0.05;                            ///< 1 − confidence
  int threads = 0;
};
struct DminEstimate {
  std::vector<std::vector<Acceptance>> matrices;  ///< by matrix, then by d of the grid
  std::vector<Acceptance> pooled;                 ///< all matrices together
  std::vector<DminLaw> laws;                      ///< by Q
};
/// Estimates p(d) by counting, for ascending d of the grid, until less than 10⁻⁶ of the law of the
/// least Q remains; then computes the laws.
TAMIS_API DminEstimate estimate_dmin(const DminProblem& problem,
                                     const EstimateOptions& options = {},
                                     const ProgressCallback& progress = {});

/// The acceptance probability p(d) as a curve, fitted to draws at d where they are accepted often,
/// so that large n are within reach. The rows that fail are nearly independent and each failure is
/// rare, so −log p(d) is nearly the expected number of failing rows. Its logarithm falls like a
/// normal tail: a − b·y − ½·log y with y = 1/(1/m − 1/n), m = d/2 (docs/jl.md).
struct AcceptanceFit {
  std::int64_t n = 0;
  std::vector<Acceptance> counts;  ///< ascending in d
  double a = 0;                    ///< maximum-likelihood estimates of a and b
  double b = 0;
  double var_a = 0;  ///< their variances and covariance
  double var_b = 0;
  double cov_ab = 0;
  double deviance = 0;       ///< of the counts from the curve
  std::int64_t degrees = 0;  ///< of freedom of the deviance, chi-squared if the form is right
  double p_value = 0;        ///< probability of a deviance at least as large

  /// p(d) on the curve, for 0 < d < 2n.
  [[nodiscard]] TAMIS_API double probability(double d) const;
};
struct AcceptanceFitOptions {
  /// Draws at one d end when this many are accepted …
  std::int64_t accepted = 16;
  /// … or after `accepted`/`least` draws, where p(d) may be below `least`; no smaller d is tried.
  double least = 0.01;
  std::int64_t step = 8;  ///< spacing of the grid of d
  int threads = 0;
};
/// Finds by bisection where p(d) rises, counts accepted draws at about eight d there and fits the
/// curve. Throws `input` if p rises so steeply that fewer than three of these d have both accepted
/// and rejected draws, as happens at small n, where a search is cheap.
TAMIS_API AcceptanceFit fit_acceptance(const Pattern& pattern, const Conditions& conditions,
                                       std::uint64_t seed, const AcceptanceFitOptions& options = {},
                                       const ProgressCallback& progress = {});

/// The median of the least d for one Q that the curve implies, on the grid of the given step. Its
/// standard deviation is that of the curve's coefficients and assumes that the form of the curve is
/// right.
struct DminMedian {
  std::int64_t d = 0;  ///< the median, a d of the grid
  /// The d where P(D ≤ d) passes ½, interpolated between multiples of the step.
  double between = 0;
  double deviation = 0;  ///< standard deviation of `between`
};
TAMIS_API DminMedian dmin_median(const AcceptanceFit& fit, double Q, std::int64_t step);

}  // namespace tamis::lab
