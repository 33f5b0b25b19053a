#include "lab/stats/special.h"

#include <algorithm>
#include <boost/math/distributions/binomial.hpp>
#include <boost/math/distributions/chi_squared.hpp>
#include <boost/math/distributions/fisher_f.hpp>
#include <boost/math/distributions/students_t.hpp>
#include <boost/math/special_functions/erf.hpp>
#include <boost/math/special_functions/gamma.hpp>
#include <cmath>
#include <limits>
#include <numbers>

namespace tamis::lab::stats {
namespace {

/// Doubles throughout: long doubles would be slower and change no digit that is shown. Results that
/// overflow are infinite, as those of the standard library are.
using Doubles = boost::math::policies::policy<
    boost::math::policies::promote_double<false>,
    boost::math::policies::overflow_error<boost::math::policies::ignore_error>>;
using Binomial = boost::math::binomial_distribution<double, Doubles>;
using ChiSquared = boost::math::chi_squared_distribution<double, Doubles>;
using FisherF = boost::math::fisher_f_distribution<double, Doubles>;
using StudentsT = boost::math::students_t_distribution<double, Doubles>;

}  // namespace

double log_gamma(double x) { return boost::math::lgamma(x, Doubles()); }

double normal_tail(double x) { return 0.5 * std::erfc(x / std::numbers::sqrt2); }

double normal_tail_quantile(double p) {
  if (!(p > 0)) return std::numeric_limits<double>::infinity();
  if (!(p < 1)) return -std::numeric_limits<double>::infinity();
  return std::numbers::sqrt2 * boost::math::erfc_inv(2 * p, Doubles());
}

double log_normal_tail(double x) { return log_scaled_tail(x) - 0.5 * x * x; }

double log_scaled_tail(double x) {
  if (x < 25) return std::log(normal_tail(x)) + 0.5 * x * x;
  // The asymptotic series; the first term left out is below 15/x⁶ < 1e-7 of one, in the logarithm.
  const double inverse = 1 / (x * x);
  return std::log1p(-inverse * (1 - 3 * inverse)) - std::log(x * std::sqrt(2 * std::numbers::pi));
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

double f_tail(double df1, double df2, double f) {
  if (!(f > 0)) return 1;
  return cdf(complement(FisherF(df1, df2), f));
}

double student_quantile(double df, double confidence) {
  return quantile(complement(StudentsT(df), 0.5 * (1 - confidence)));
}

double chi_squared_tail(double df, double x) {
  if (!(x > 0)) return 1;
  return cdf(complement(ChiSquared(df), x));
}

ProbabilityBounds clopper_pearson_bounds(std::int64_t successes, std::int64_t trials, double tail) {
  const auto yes = static_cast<double>(successes);
  const auto all = static_cast<double>(trials);
  return {successes == 0 ? 0 : Binomial::find_lower_bound_on_p(all, yes, tail),
          successes == trials ? 1 : Binomial::find_upper_bound_on_p(all, yes, tail)};
}

}  // namespace tamis::lab::stats
