// The special functions that laws and intervals need and the standard library lacks. Relative
// accuracy about 1e-10, a few hundred nanoseconds each; nothing is allocated, all are thread-safe.
#pragma once

namespace tamis::lab::stats {

/// log Γ(x), x > 0. std::lgamma writes a global sign, which other threads would write too.
double log_gamma(double x);
/// P(Z > x) of a standard normal Z, to full relative accuracy in both tails.
double normal_tail(double x);
/// log P(Z > x), also where the probability itself underflows.
double log_normal_tail(double x);
/// log P(Z > x) + x²/2, which stays small where the two are large and would cancel.
double log_scaled_tail(double x);
/// The x with normal_tail(x) = p; ±infinity at 0 and 1.
double normal_tail_quantile(double p);
/// The d ≥ 0 with normal_tail(x + d) = share·normal_tail(x), 0 < share ≤ 1, also where these
/// underflow.
double tail_step(double x, double share);

/// Regularised incomplete beta function I_x(a, b), a, b > 0: P(Beta(a, b) ≤ x).
double beta_cdf(double a, double b, double x);
/// The x with beta_cdf(a, b, x) = p.
double beta_quantile(double a, double b, double p);

/// P(F > f) for Fisher's F with df1 and df2 degrees of freedom, both positive reals.
double f_tail(double df1, double df2, double f);

/// The t with P(|T| ≤ t) = confidence for Student's T with df > 0 degrees of freedom.
double student_quantile(double df, double confidence);

/// P(X > x) for chi-squared X with df > 0 degrees of freedom.
double chi_squared_tail(double df, double x);

}  // namespace tamis::lab::stats
