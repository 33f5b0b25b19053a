// Special functions against closed forms and against sums, to the accuracy that special.h states.
#include "lab/stats/special.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

#include <tamis/lab/dmin.h>

namespace tamis {
namespace {

TEST(Special, NormalQuantilesAreThePublishedOnes) {
  EXPECT_NEAR(lab::stats::normal_tail_quantile(0.025), 1.959963984540054, 1e-12);
  EXPECT_NEAR(lab::stats::normal_tail_quantile(0.5), 0, 1e-15);
  EXPECT_NEAR(lab::stats::normal_tail_quantile(1e-10), 6.361340902404056, 1e-10);
  EXPECT_EQ(lab::stats::normal_tail_quantile(0), std::numeric_limits<double>::infinity());
  EXPECT_EQ(lab::stats::normal_tail_quantile(1), -std::numeric_limits<double>::infinity());
}

TEST(Special, NormalQuantileUndoesTheTail) {
  for (double log_p = -700; log_p < -1e-3; log_p *= 0.9) {
    const double p = std::exp(log_p);
    EXPECT_NEAR(std::log(lab::stats::normal_tail(lab::stats::normal_tail_quantile(p))), log_p,
                1e-10 * (1 + std::abs(log_p)))
        << p;
  }
}

TEST(Special, LogTailMeetsItselfWhereTheSeriesTakesOver) {
  for (const double x : {25.0, 26.0, 30.0, 37.0})  // the tail itself is still a normal double
    EXPECT_NEAR(lab::stats::log_normal_tail(x), std::log(lab::stats::normal_tail(x)),
                15 / std::pow(x, 6) + 1e-12 * x * x)
        << x;
  for (const double x : {-3.0, 0.0, 4.0, 30.0, 37.0, 60.0, 1e4})
    for (const double share : {1.0, 0.9, 1e-3, 1e-30, 1e-200}) {
      const double d = lab::stats::tail_step(x, share);
      // The definition of d, in logarithms. x·d may be as large as log share and is rounded
      // relative to x².
      EXPECT_NEAR(
          lab::stats::log_scaled_tail(x + d) - lab::stats::log_scaled_tail(x) - d * (x + 0.5 * d),
          std::log(share), 1e-9 * (1 + x * x * 1e-4 - std::log(share)))
          << x << ' ' << share;
    }
  EXPECT_NEAR(lab::stats::log_normal_tail(1000), -0.5e6 - std::log(1000 * std::sqrt(2 * M_PI)),
              2e-6);
}

/// P(Binomial(trials, p) ≥ least).
double binomial_tail(std::int64_t trials, std::int64_t least, double p) {
  double sum = 0;
  for (std::int64_t i = least; i <= trials; ++i) {
    const auto x = static_cast<double>(i);
    const auto n = static_cast<double>(trials);
    sum += std::exp(std::lgamma(n + 1) - std::lgamma(x + 1) - std::lgamma(n - x + 1) +
                    x * std::log(p) + (n - x) * std::log1p(-p));
  }
  return sum;
}

TEST(Special, ClopperAndPearsonsEndsAreWhereBinomialTailsHaveTheirShare) {
  for (const double tail : {1e-6, 0.025, 0.4})
    for (const std::int64_t trials : {1, 7, 300})
      for (const std::int64_t successes : {std::int64_t{0}, std::int64_t{1}, trials / 2, trials}) {
        const auto [low, high] = lab::stats::clopper_pearson_bounds(successes, trials, tail);
        if (successes == 0)
          EXPECT_EQ(low, 0);
        else
          EXPECT_NEAR(binomial_tail(trials, successes, low), tail, 1e-9);
        if (successes == trials)
          EXPECT_EQ(high, 1);
        else
          EXPECT_NEAR(1 - binomial_tail(trials, successes + 1, high), tail, 1e-9);
      }
  EXPECT_EQ(lab::stats::clopper_pearson_bounds(0, 0, 0.05).high, 1);
}

TEST(Special, FisherTailIsItsClosedFormForTwoDegrees) {
  for (const double f : {0.1, 1.0, 3.7, 20.0})
    for (const double df : {1.0, 7.0, 240.5})
      EXPECT_NEAR(lab::stats::f_tail(2, df, f), std::pow(1 + 2 * f / df, -df / 2), 1e-11);
  EXPECT_EQ(lab::stats::f_tail(3, 4, 0), 1);
}

TEST(Special, NothingWritesTheSignThatLgammaLeavesForTheWholeProcess) {
  const int before = ::signgam;
  ::signgam = 7;
  EXPECT_GT(lab::stats::log_gamma(0.5), 0);
  EXPECT_GT(lab::stats::chi_squared_tail(30, 2), 0);
  EXPECT_GT(lab::stats::chi_squared_tail(0.5, 20), 0);
  EXPECT_GT(lab::stats::f_tail(2, 3, 4), 0);
  EXPECT_GT(lab::stats::student_quantile(5, 0.9), 0);
  EXPECT_GT(lab::stats::clopper_pearson_bounds(3, 7, 0.1).low, 0);
  const std::vector<std::vector<lab::Acceptance>> matrices(1, {{4, 100, 3}, {8, 100, 50}});
  EXPECT_GE(lab::dmin_law(matrices, 16, 0.5, 0.05, 4, 2).window_error, 0);
  EXPECT_EQ(::signgam, 7);
  ::signgam = before;
}

}  // namespace
}  // namespace tamis
