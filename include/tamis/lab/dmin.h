// d_min: the least dimension at which the paper's random construction finds a pattern within Q·n
// redraws (its Figures 3 and 4). A dimension d here is the paper's: even, d = 2m, with m columns in
// queries and keys.
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

/// A dimension that is proven to be enough; where it exceeds d = 2n the construction does not
/// exist. γ may be infinite, as that of a pattern is whose ratios are beyond f64: then it does.
struct DimensionBound {
  std::int64_t d = 0;
  bool vacuous = false;
};
/// (6): d = 2⌈16k²(log(γ/ε₁)/ε₂ + 1)²(2·log n + log(n − 1) + log 2)⌉, for n ≥ 2; a draw is accepted
/// with probability above 1/(n + 2).
TAMIS_API DimensionBound paper_bound(std::int64_t n, std::int64_t k, double gamma, double eps1,
                                     double eps2);
/// The same with k in place of k², k by rows alone, and only pairs that touch the support counted:
/// d = 2⌈16k(log(γ/ε₁)/ε₂ + 1)²·log(4kn(n − 1))⌉; a draw is accepted with probability at least 1/2.
TAMIS_API DimensionBound sharper_bound(std::int64_t n, std::int64_t k, double gamma, double eps1,
                                       double eps2);

/// The paper's random targets: matrix number `matrix` of this seed.
struct DminProblem {
  std::int64_t n = 0;
  std::int64_t k = 1;
  double gamma = 1;
  double eps1 = 0.5;
  double eps2 = 1;
  bool causal = false;
  std::uint64_t seed = 0;

  [[nodiscard]] TAMIS_API Conditions conditions() const;
  /// permutations_pattern, or causal_pattern, of a seed made from `seed` and `matrix`.
  [[nodiscard]] TAMIS_API Pattern pattern(std::int64_t matrix) const;
  /// The seed of the draws for that matrix.
  [[nodiscard]] TAMIS_API std::uint64_t draw_seed(std::int64_t matrix) const;
};

/// Draws are numbered, and each is a function of (pattern, conditions, d, seed, number) alone: a
/// range can be done in pieces, anywhere, and put together.
struct Draws {
  std::int64_t first = 0;
  std::int64_t count = 0;
};
/// The number of the first accepted draw, for any number of threads; accepted means that (23), (24)
/// hold in f64 and in f32 up to its rounding. Expected cost by draw: microseconds where rows fail
/// readily, about n·d²/4 multiply-adds where they do not. Memory n·d floats per thread. Throws
/// `usage` for an odd d or one outside 2 … 2n and for conditions outside their range or weak,
/// `input` for a pattern that is not square or not causal where it must be. `threads` = 0 takes
/// every core. Concurrent calls are safe.
TAMIS_API std::optional<std::int64_t> first_accepted(const Pattern& pattern,
                                                     const Conditions& conditions, std::int64_t d,
                                                     Draws draws, std::uint64_t seed,
                                                     int threads = 0,
                                                     const ProgressCallback& progress = {});
/// How many are accepted; likewise.
TAMIS_API std::int64_t count_accepted(const Pattern& pattern, const Conditions& conditions,
                                      std::int64_t d, Draws draws, std::uint64_t seed,
                                      int threads = 0, const ProgressCallback& progress = {});

/// A probability between two that a share 1 − δ of all intervals made this way contain.
struct ProbabilityInterval {
  double low = 0;
  double high = 1;
};
/// Clopper and Pearson's exact interval for a probability of which `accepted` of `draws` were seen.
TAMIS_API ProbabilityInterval clopper_pearson(std::int64_t accepted, std::int64_t draws,
                                              double delta);

struct SearchOptions {
  double Q = 1;           ///< round(Q·n) draws for every d
  std::int64_t step = 8;  ///< of the grid of d, even
  std::int64_t from = 0;  ///< its first d; 0 takes the step
  int threads = 0;
};
struct DminSearch {
  std::int64_t d_min = 0;           ///< 0 if no d of the grid up to 2n was accepted
  std::int64_t draws = 0;           ///< in all, up to and including the accepted one
  std::int64_t draws_at_d_min = 0;  ///< of them, at d_min
  double p = 0;                     ///< at d_min: 1/draws_at_d_min, the most likely value
  ProbabilityInterval interval;     ///< of p at d_min, 95 %, given that a draw was accepted there
};
/// Ascending search, as the paper does it. Progress counts draws, of at most those up to d = 2n.
TAMIS_API DminSearch search_dmin(const Pattern& pattern, const Conditions& conditions,
                                 std::uint64_t seed, const SearchOptions& options = {},
                                 const ProgressCallback& progress = {});

/// What was seen at one d for one matrix.
struct Acceptance {
  std::int64_t d = 0;
  std::int64_t draws = 0;
  std::int64_t accepted = 0;
};

/// The law of d_min for one Q: P(d_min = d) = [1 − (1 − p(d))^N]·∏_{d' < d}(1 − p(d'))^N, N =
/// round(Q·n), averaged over the matrices (not p: the law is not linear in it). The band contains
/// the true law for these matrices, all d and all Q at once, with the stated confidence: it takes p
/// at the ends of intervals whose errors add up to no more. If the grid starts above its step,
/// `window_error` bounds what that can change a probability by, taking p(d) for smaller d to be no
/// more than the upper end at the first.
struct DminLaw {
  double Q = 1;
  std::vector<double> probability;  ///< by d of the grid
  std::vector<double> at_most;      ///< P(d_min ≤ d)
  std::vector<double> low, high;    ///< the band of at_most
  std::int64_t median = 0;          ///< 0 where it lies beyond the grid, here and below
  std::int64_t median_low = 0;      ///< the median lies between these with the stated confidence
  std::int64_t median_high = 0;
  std::int64_t p05 = 0, p95 = 0;
  double window_error = 0;
};
/// The law that counts on one grid, step apart, tell; every matrix has the same grid. `tried` is
/// how many dimensions the grid could have had.
TAMIS_API DminLaw dmin_law(std::span<const std::vector<Acceptance>> matrices, std::int64_t n,
                           double Q, double delta, std::int64_t step, std::int64_t tried);

struct EstimateOptions {
  std::int64_t matrices = 1;
  std::int64_t draws =
      0;  ///< for every d and matrix; 0 takes 20·n, which bounds the median on both sides
  std::int64_t step = 8;
  std::int64_t from = 0;
  std::vector<double> Q{0.1, 0.2, 0.5, 1, 2, 5};  ///< ascending
  double delta = 0.05;                            ///< 1 − confidence
  int threads = 0;
};
struct DminEstimate {
  std::vector<std::vector<Acceptance>> matrices;  ///< by matrix, then by d of the grid
  std::vector<Acceptance> pooled;                 ///< all matrices together
  std::vector<DminLaw> laws;                      ///< by Q
};
/// p(d) on the grid, ascending until the least Q leaves less than 10⁻⁶ of the law, then the laws.
TAMIS_API DminEstimate estimate_dmin(const DminProblem& problem,
                                     const EstimateOptions& options = {},
                                     const ProgressCallback& progress = {});

/// p(d) as a curve through draws where they are accepted readily, so that large n are within reach.
/// The rows that fail are nearly independent and each is rare: −log p(d) is nearly their expected
/// number, whose logarithm falls like a normal tail, a − b·y − ½·log y with y = 1/(1/m − 1/n), m =
/// d/2 (docs/jl.md).
struct AcceptanceFit {
  std::int64_t n = 0;
  std::vector<Acceptance> counts;  ///< ascending in d
  double a = 0;                    ///< most likely values
  double b = 0;
  double var_a = 0;  ///< and their covariances
  double var_b = 0;
  double cov_ab = 0;
  double deviance =
      0;  ///< of the counts from the curve, about chi-squared with `degrees` if it holds
  std::int64_t degrees = 0;
  double p_value = 0;  ///< of a deviance as large

  /// p(d), 0 < d < 2n.
  [[nodiscard]] TAMIS_API double probability(double d) const;
};
struct AcceptanceFitOptions {
  std::int64_t accepted = 16;  ///< draws to see accepted at every d, or …
  double least = 0.01;  ///< … `accepted`/`least` draws, where p may be smaller; no d below is tried
  std::int64_t step = 8;  ///< of the grid of d
  int threads = 0;
};
/// Finds where p(d) rises, by bisection, counts at about eight d there and fits. Throws `input` if
/// p rises so steeply that fewer than three d lie on the slope, as at small n: then a search is
/// cheap.
TAMIS_API AcceptanceFit fit_acceptance(const Pattern& pattern, const Conditions& conditions,
                               std::uint64_t seed, const AcceptanceFitOptions& options = {},
                               const ProgressCallback& progress = {});

/// The median of d_min on the grid that the curve implies for one Q, with what the draws leave
/// open: the interval is that of the curve's coefficients, and takes its form for granted.
struct DminMedian {
  std::int64_t d = 0;
  double between = 0;    ///< where P(d_min ≤ d) passes ½, between multiples of the step
  double deviation = 0;  ///< standard deviation of `between`
};
TAMIS_API DminMedian dmin_median(const AcceptanceFit& curve, double Q, std::int64_t step);

}  // namespace tamis::lab
