#include "lab/stats/special.h"

#include <math.h>  // lgamma_r

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>

namespace tamis::lab::stats {

double log_gamma(double x) {
  int sign = 0;
  return ::lgamma_r(x, &sign);
}

namespace {

/// The continued fraction of I_x(a, b) by Lentz's method; converges quickly for x < (a + 1)/(a + b
/// + 2).
double beta_fraction(double a, double b, double x) {
  constexpr double tiny = 1e-300;
  const auto off_zero = [](double v) { return std::abs(v) < tiny ? tiny : v; };
  double c = 1;
  double d = 1 / off_zero(1 - (a + b) * x / (a + 1));
  double value = d;
  for (int m = 1; m < 10000; ++m) {
    const double even = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m));
    d = 1 / off_zero(1 + even * d);
    c = off_zero(1 + even / c);
    value *= d * c;
    const double odd = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1));
    d = 1 / off_zero(1 + odd * d);
    c = off_zero(1 + odd / c);
    value *= d * c;
    if (std::abs(d * c - 1) < 1e-14) break;
  }
  return value;
}

}  // namespace

double normal_tail(double x) { return 0.5 * std::erfc(x / std::numbers::sqrt2); }

double log_normal_tail(double x) { return log_scaled_tail(x) - 0.5 * x * x; }

double log_scaled_tail(double x) {
  if (x < 25) return std::log(normal_tail(x)) + 0.5 * x * x;
  // The asymptotic series; the first term left out is below 15/x⁶ < 1e-7 of one, in the logarithm.
  const double inverse = 1 / (x * x);
  return std::log1p(-inverse * (1 - 3 * inverse)) - std::log(x * std::sqrt(2 * std::numbers::pi));
}

double normal_tail_quantile(double p) {
  if (!(p > 0)) return std::numeric_limits<double>::infinity();
  if (!(p < 1)) return -std::numeric_limits<double>::infinity();
  if (p > 0.5) return -normal_tail_quantile(1 - p);
  // Start within 4.5e-4: Abramowitz and Stegun 26.2.23.
  const double t = std::sqrt(-2 * std::log(p));
  double x = t - (2.515517 + t * (0.802853 + t * 0.010328)) /
                     (1 + t * (1.432788 + t * (0.189269 + t * 0.001308)));
  // Two Halley steps on log P(Z > x) − log p cube the error each; the second is for p near the
  // smallest double.
  for (int step = 0; step < 2; ++step) {
    const double tail = normal_tail(x);
    const double density = std::exp(-0.5 * x * x) / std::sqrt(2 * std::numbers::pi);
    const double hazard = density / tail;             // −d log tail / dx
    const double miss = std::log(tail / p) / hazard;  // Newton's step
    x += miss / (1 + 0.5 * miss * (hazard - x));      // d log(hazard)/dx = hazard − x
    if (std::abs(miss) < 1e-5) break;
  }
  return x;
}

double tail_step(double x, double share) {
  const double p = share * normal_tail(x);
  if (p > 1e-300) return std::max(0.0, normal_tail_quantile(p) - x);
  // Newton on log P(Z > x + d) − log P(Z > x) = log share, from where the squares alone would put
  // it. The logarithm of the tail is concave, so that after the first step d falls to its limit.
  const double wanted = std::log(share);
  const double from = log_scaled_tail(x);
  const double far = std::sqrt(std::max(0.0, x * x - 2 * wanted));
  double d = x > 0 ? -2 * wanted / (far + x) : far - x;
  for (int step = 0; step < 8; ++step) {
    const double scaled = log_scaled_tail(x + d);
    const double miss = scaled - from - d * (x + 0.5 * d) - wanted;
    const double hazard = std::exp(-scaled) / std::sqrt(2 * std::numbers::pi);
    d += miss / hazard;
    if (std::abs(miss) < 1e-12) break;
  }
  return std::max(0.0, d);
}

double beta_cdf(double a, double b, double x) {
  if (!(x > 0)) return 0;
  if (!(x < 1)) return 1;
  const double front = std::exp(log_gamma(a + b) - log_gamma(a) - log_gamma(b) + a * std::log(x) +
                                b * std::log1p(-x));
  if (x < (a + 1) / (a + b + 2)) return front * beta_fraction(a, b, x) / a;
  return 1 - front * beta_fraction(b, a, 1 - x) / b;
}

double beta_quantile(double a, double b, double p) {
  if (!(p > 0)) return 0;
  if (!(p < 1)) return 1;
  double low = 0;
  double high = 1;
  for (int step = 0; step < 60; ++step) {  // halves an interval of 1 to below 1e-18
    const double middle = 0.5 * (low + high);
    (beta_cdf(a, b, middle) < p ? low : high) = middle;
  }
  return 0.5 * (low + high);
}

double f_tail(double df1, double df2, double f) {
  if (!(f > 0)) return 1;
  return beta_cdf(0.5 * df2, 0.5 * df1, df2 / (df2 + df1 * f));
}

double student_quantile(double df, double confidence) {
  const double x = beta_quantile(0.5, 0.5 * df, confidence);  // T²/(T² + df) is Beta(1/2, df/2)
  return std::sqrt(df * x / (1 - x));
}

double chi_squared_tail(double df, double x) {
  if (!(x > 0)) return 1;
  const double a = 0.5 * df;
  const double t = 0.5 * x;
  const double front = std::exp(a * std::log(t) - t - log_gamma(a));  // t^a·e^−t/Γ(a)
  if (t < a + 1) {
    // The lower part: front·Σ t^i/(a(a + 1)…(a + i)).
    double term = 1 / a;
    double sum = term;
    for (double i = 1; term > 1e-17 * sum; ++i) sum += term *= t / (a + i);
    return 1 - front * sum;
  }
  // The upper part as a continued fraction, by the modified rule of Lentz.
  double b = t + 1 - a;
  double c = 1e300;
  double d = 1 / b;
  double h = d;
  for (int n = 1; n < 10000; ++n) {
    const double i = n;
    const double an = -i * (i - a);
    b += 2;
    d = 1 / (an * d + b);
    c = b + an / c;
    h *= d * c;
    if (std::abs(d * c - 1) < 1e-15) break;
  }
  return front * h;
}

}  // namespace tamis::lab::stats
