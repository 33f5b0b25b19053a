// Laws: how many keys a head needs as its context grows. docs/laws.md derives every rule and
// constant.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <tamis/export.h>

namespace tamis::lab {

/// k_eps, the fewest keys that hold mass 1 − eps, of a row of n i.i.d. N(mu, sigma²) logits.
struct GaussianKEps {
  double log_mean = 0;  ///< E log k_eps: what least squares on log k_eps estimates
  double log_sd = 0;    ///< standard deviation of log k_eps from row to row
  double median = 0;    ///< of k_eps
  double mean = 0;      ///< E k_eps
};

/// The null: Gaussian logits of one spread, at finite n. The limit k/n → Φᶜ(sigma + Φ⁻¹(eps)) holds
/// only where n·Φᶜ(sigma) ≫ 1; before, k grows like a power of n although nothing about the head
/// changes with n. Building one takes about 0.15 s on one core and 36 kB; asking it is then a few
/// dozen operations, allocates nothing and may be done from many threads. One object serves one
/// eps, all heads and all lengths.
class TAMIS_API GaussianNull {
 public:
  /// 0 < eps < 1, else throws `usage`.
  explicit GaussianNull(double eps);
  [[nodiscard]] double eps() const { return eps_; }
  /// n ≥ 1, sigma ≥ 0 and finite, else throws `usage`. log_mean and log_sd are within 0.03 of the
  /// truth for n ≥ 64 and within 0.1 below. From a table, in a fraction of a microsecond, for every
  /// sigma and n up to 2^32; for more keys, which no row of a trace has, computed (0.5 ms,
  /// allocates).
  [[nodiscard]] GaussianKEps at(double n, double sigma) const;

 private:
  double eps_;
  std::vector<GaussianKEps> table_;
};

/// The median alone, for one question: takes half a millisecond, allocates a few kB. Thread-safe.
[[nodiscard]] TAMIS_API double gaussian_k_eps(double n, double sigma, double eps);

/// How k_eps grows with the number n of keys seen. Every law is alpha·shape(n).
enum class Law : std::uint8_t {
  constant,     ///< alpha
  logarithmic,  ///< alpha·log n
  power,        ///< alpha·n^C, 0 < C < 1
  linear,       ///< alpha·n
  gaussian,     ///< alpha·exp(null.at(n, sigma).log_mean) with one sigma for the head: the null
  none,         ///< no law was fitted, or the best one does not fit; LawFit::reason says why
};
/// "constant", "log", "power", "linear", "gaussian", "none".
[[nodiscard]] TAMIS_API std::string_view name_of(Law law);

/// One head: rows in any order, one entry per row in every span.
struct LawRows {
  std::span<const double> n;      ///< keys the row sees, ≥ 1
  std::span<const double> k_eps;  ///< 1 … n
  std::span<const double>
      sigma;  ///< spread (standard deviation) of the row's logits; empty: no gaussian law
};

struct LawOptions {
  double confidence = 0.95;    ///< of the interval for C
  double significance = 0.01;  ///< a law fails if its lack of fit is less likely than this …
  double material = 0.1;  ///< … and at least this large, as a standard deviation of log k_eps
  std::int64_t resamples = 999;  ///< of the block bootstrap, ≥ 99
  std::uint64_t seed = 0;
};

/// One law against the data.
struct LawScore {
  Law law = Law::none;
  double alpha = 0;         ///< least squares on log k_eps
  double residual_sd = 0;   ///< of log k_eps
  double log_evidence = 0;  ///< log marginal likelihood, up to a constant common to all laws
  double probability = 0;   ///< posterior, from the prior odds of docs/laws.md
};

/// What is known of a head's growth. Numbers that could not be had are NaN, and `reason` says why
/// in words.
struct LawFit {
  Law law = Law::none;  ///< the most probable law, or none
  std::string
      reason;  ///< a sentence where there is something to say: none, too few rows, at the floor
  std::int64_t rows = 0;
  double n_low = 0;  ///< shortest and longest row
  double n_high = 0;
  double k_median = 0;  ///< median of k_eps over the rows
  double alpha = 0;     ///< of the best law, also where `law` is none because it fails
  double C = 0;         ///< exponent of alpha·n^C by least squares, whatever the law
  double C_low = 0;     ///< interval for C at `confidence`, by studentised block bootstrap
  double C_high = 0;
  double sigma = 0;        ///< the head's: median over its rows
  double residual_sd = 0;  ///< of log k_eps about the best law
  double lack_of_fit =
      0;  ///< standard deviation of log k_eps, over length bins, that the best law misses
  double p_value = 0;            ///< of that lack of fit
  double autocorrelation = 0;    ///< of neighbouring rows' residuals
  double effective_rows = 0;     ///< independent rows that carry the same evidence
  std::int64_t block = 0;        ///< rows per block of the bootstrap
  Law best = Law::none;          ///< the most probable law even if it fails
  std::vector<LawScore> scores;  ///< by descending probability; empty if no law was fitted
};

/// Fits all laws to log k_eps over log n and chooses by posterior probability; see docs/laws.md.
/// `null` is of the eps of k_eps.
/// Never throws for data that merely cannot carry a law (too few rows, one length, k_eps at its
/// floor): `reason` says so and medians are still given. Throws `usage` for spans of different
/// sizes, n or k_eps out of range, options out of range. rows·(log rows + 2·resamples/block)
/// operations, a millisecond or two for 256 rows; allocates some rows-sized arrays. The same rows
/// and seed give the same bits. Thread-safe.
[[nodiscard]] TAMIS_API LawFit fit_law(const LawRows& rows, const GaussianNull& null,
                                       const LawOptions& options = {});

/// What the best law of a fit says at n, in 1 … n; NaN if no law was fitted.
[[nodiscard]] TAMIS_API double predicted_k_eps(const LawFit& fit, const GaussianNull& null,
                                                 double n);

}  // namespace tamis::lab
