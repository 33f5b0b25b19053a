// Laws that describe how the number of keys a head needs grows with its context. docs/laws.md
// derives every rule and constant used here.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <tamis/export.h>

namespace tamis::lab {

/// Statistics of k_eps, the fewest keys that hold mass 1 − eps, for a row of n i.i.d.
/// N(mu, sigma²) logits.
struct GaussianKEps {
  double log_mean = 0;  ///< E log k_eps, which least squares on log k_eps estimates
  double log_sd = 0;    ///< standard deviation of log k_eps from row to row
  double median = 0;    ///< median of k_eps
  double mean = 0;      ///< E k_eps
};

/// The null model: Gaussian logits with a fixed standard deviation sigma, at finite n. The limit
/// k/n → Φᶜ(sigma + Φ⁻¹(eps)) holds only where n·Φᶜ(sigma) ≫ 1; for smaller n, k grows like a
/// power of n although nothing about the head changes with n. Construction takes about 0.15 s on
/// one core and 36 kB. A lookup then takes a few dozen operations, allocates nothing (but see
/// `at`) and is thread-safe. One object serves one eps, all heads and all lengths.
class TAMIS_API GaussianNull {
 public:
  /// Throws `usage` unless 0 < eps < 1.
  explicit GaussianNull(double eps);
  [[nodiscard]] double eps() const { return eps_; }
  /// The statistics for n keys. Throws `usage` unless n ≥ 1 and sigma ≥ 0, both finite. log_mean
  /// and log_sd are within 0.03 of the truth for n ≥ 64 and within 0.1 for smaller n. For every
  /// sigma and for n up to 2^32 this interpolates a table in a fraction of a microsecond. For
  /// larger n, which no row of a trace has, it computes the answer (0.5 ms) and allocates.
  [[nodiscard]] GaussianKEps at(double n, double sigma) const;

 private:
  double eps_;
  std::vector<GaussianKEps> table_;
};

/// The median of k_eps for one n, sigma and eps, without building a GaussianNull. Takes half a
/// millisecond and allocates a few kB. Thread-safe.
[[nodiscard]] TAMIS_API double gaussian_k_eps(double n, double sigma, double eps);

/// How k_eps grows with n, the number of keys a row sees. Every law has the form alpha·shape(n).
enum class Law : std::uint8_t {
  constant,     ///< alpha
  logarithmic,  ///< alpha·log n
  power,        ///< alpha·n^C, 0 < C < 1
  linear,       ///< alpha·n
  /// The null model: alpha·exp(null.at(n, sigma).log_mean), with one sigma for the head.
  gaussian,
  none,  ///< no law was fitted, or the best one does not fit; LawFit::reason says why
};
/// Returns "constant", "log", "power", "linear", "gaussian" or "none".
[[nodiscard]] TAMIS_API std::string_view name_of(Law law);

/// The rows of one head, in any order. Every span has one entry per row.
struct LawRows {
  std::span<const double> n;      ///< keys that the row sees, ≥ 1
  std::span<const double> k_eps;  ///< k_eps of the row, 1 … n
  /// Standard deviation of the row's logits. If the span is empty, the gaussian law is left out.
  std::span<const double> sigma;
};

struct LawOptions {
  double confidence = 0.95;  ///< confidence level of the interval for C
  /// A law is rejected if the p-value of its lack of fit is below `significance` and its lack of
  /// fit, as a standard deviation of log k_eps, is at least `material`.
  double significance = 0.01;
  double material = 0.1;
  std::int64_t resamples = 999;  ///< resamples of the block bootstrap, 99 … 1,000,000
  std::uint64_t seed = 0;
};

/// How well one law describes the data.
struct LawScore {
  Law law = Law::none;
  double alpha = 0;         ///< by least squares on log k_eps
  double residual_sd = 0;   ///< standard deviation of the residuals of log k_eps
  double log_evidence = 0;  ///< log marginal likelihood, up to a constant common to all laws
  double probability = 0;   ///< posterior probability, with the priors of docs/laws.md
};

/// The law fitted to a head. Numbers that could not be computed are NaN, and `reason` says why.
struct LawFit {
  Law law = Law::none;  ///< the most probable law; none if it was rejected or not fitted
  /// A sentence that explains why `law` is none, or that k_eps is at its least value, 1, in most
  /// rows; otherwise empty.
  std::string reason;
  std::int64_t rows = 0;
  double n_low = 0;  ///< n of the shortest row; n_high is that of the longest
  double n_high = 0;
  double k_median = 0;  ///< median of k_eps over the rows
  /// alpha of the best law, also if that law was rejected. If no law was fitted, the geometric
  /// mean of k_eps.
  double alpha = 0;
  /// Exponent of alpha·n^C by least squares, whichever law is best.
  double C = 0;
  /// Confidence interval C_low … C_high for C, by studentised block bootstrap.
  double C_low = 0;
  double C_high = 0;
  double sigma = 0;        ///< median of sigma over the rows
  double residual_sd = 0;  ///< standard deviation of log k_eps about the best law
  /// Standard deviation, over bins of length, of the part of log k_eps that the best law misses.
  double lack_of_fit = 0;
  double p_value = 0;          ///< p-value of `lack_of_fit`
  double autocorrelation = 0;  ///< correlation of neighbouring rows' residuals
  double effective_rows = 0;   ///< number of independent rows with the same evidence
  std::int64_t block = 0;      ///< rows per block of the bootstrap
  /// The law whose alpha and residuals are given: the most probable one even if it was rejected,
  /// or constant if k_eps is 1 in more than half of the rows.
  Law best = Law::none;
  std::vector<LawScore> scores;  ///< by descending probability; empty if none was fitted
};

/// Fits all laws to log k_eps over log n and chooses one by posterior probability; see
/// docs/laws.md. `null` must be for the eps with which k_eps was measured. Data that cannot carry
/// a law (too few rows, one length) do not cause an exception: `reason` says what is missing, and
/// medians are still given. Throws `usage` for spans of different sizes and for n, k_eps, sigma or
/// options out of range. Takes rows·(log rows + 2·resamples/block) operations, which is a
/// millisecond or two for 256 rows, and allocates a few arrays with one entry per row. The same
/// rows and seed give the same bits. Thread-safe.
[[nodiscard]] TAMIS_API LawFit fit_law(const LawRows& rows, const GaussianNull& null,
                                       const LawOptions& options = {});

/// Returns k_eps that the best law of a fit predicts at n, clamped to 1 … n, or NaN if no law was
/// fitted. Throws `usage` if a law was fitted and n < 1.
[[nodiscard]] TAMIS_API double predicted_k_eps(const LawFit& fit, const GaussianNull& null,
                                               double n);

}  // namespace tamis::lab
