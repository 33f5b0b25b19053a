// Special functions and quantiles that laws and confidence intervals need. Boost.Math computes
// those that it has; the logarithms of normal tails, which it lacks, are computed here. Each call
// takes at most a few microseconds, allocates nothing and is thread-safe.
#pragma once

#include <cstdint>

namespace tamis::lab::stats {

/// log Γ(x) for x > 0. Unlike std::lgamma it writes no global variable.
double log_gamma(double x);

/// P(Z > x) for a standard normal Z, to full relative accuracy in both tails.
double normal_tail(double x);
/// The x with normal_tail(x) = p. It is +infinity for p ≤ 0 and −infinity for p ≥ 1.
double normal_tail_quantile(double p);
/// log P(Z > x), also where the probability itself underflows.
double log_normal_tail(double x);
/// log P(Z > x) + x²/2, which stays small where both terms are large and their sum would cancel.
double log_scaled_tail(double x);
/// The d ≥ 0 with normal_tail(x + d) = share·normal_tail(x), 0 < share ≤ 1, also where both tails
/// underflow.
double tail_step(double x, double share);

/// P(F > f) for Fisher's F with df1 and df2 degrees of freedom, both positive.
double f_tail(double df1, double df2, double f);

/// The t with P(|T| ≤ t) = confidence for Student's T with df > 0 degrees of freedom.
double student_quantile(double df, double confidence);

/// P(X > x) for chi-squared X with df > 0 degrees of freedom.
double chi_squared_tail(double df, double x);

/// An interval of probabilities.
struct ProbabilityBounds {
  double low = 0;
  double high = 1;
};
/// The exact interval of Clopper and Pearson for a probability, from `successes` in `trials` ≥ 0
/// independent trials: each end is wrong with probability at most `tail`.
ProbabilityBounds clopper_pearson_bounds(std::int64_t successes, std::int64_t trials, double tail);

}  // namespace tamis::lab::stats
