// Laws of d over n: parameters are recovered with honest errors, and planted laws are told apart.
#include <gtest/gtest.h>

#include <cmath>

#include <tamis/error.h>
#include "lab/numbers/random.h"
#include "lab/stats/dimension_law.h"
#include "lab/stats/special.h"

namespace tamis {
namespace {

constexpr double lengths[] = {512, 768, 1024, 1280, 1536, 1792, 2048, 2304, 2560, 2816, 3072};

std::vector<lab::stats::DimensionPoint> planted(lab::stats::DimensionLaw law, double u, double v,
                                                double sd, std::uint64_t seed) {
  std::vector<lab::stats::DimensionPoint> points;
  const lab::numbers::Stream stream(seed, lab::numbers::Purpose::test, 0);
  std::uint32_t draw = 0;
  for (const double n : lengths)
    points.push_back({n, lab::stats::dimension_at(law, u, v, n) + sd * stream.normal(draw++), sd});
  return points;
}

struct Planted {
  lab::stats::DimensionLaw law;
  double u, v;
};
constexpr Planted laws[] = {{lab::stats::DimensionLaw::logarithmic, -120, 45},
                            {lab::stats::DimensionLaw::power, 9, 0.55},
                            {lab::stats::DimensionLaw::confined, -90, 80}};

TEST(SweepGrowth, ExactPointsGiveTheirParametersBack) {
  for (const Planted& p : laws) {
    const lab::stats::DimensionFit fit =
        lab::stats::fit_dimension(p.law, planted(p.law, p.u, p.v, 1e-6, 1));
    EXPECT_NEAR(fit.u, p.u, 1e-3 * std::abs(p.u)) << lab::stats::name_of(p.law);
    EXPECT_NEAR(fit.v, p.v, 1e-3 * p.v) << lab::stats::name_of(p.law);
  }
}

TEST(SweepGrowth, IntervalsHoldTheTruthAsOftenAsTheySay) {
  constexpr int trials = 400;
  for (const Planted& p : laws) {
    int held = 0;
    int rejected = 0;
    for (int trial = 0; trial < trials; ++trial) {
      const lab::stats::DimensionFit fit = lab::stats::fit_dimension(
          p.law, planted(p.law, p.u, p.v, 5, 100 + static_cast<std::uint64_t>(trial)));
      held += std::abs(fit.v - p.v) <= fit.half_width() ? 1 : 0;
      rejected += fit.p_value < 0.01 ? 1 : 0;
    }
    // Errors that are widened where points scatter more than expected must cover at least as
    // often. The bound is five standard deviations of a binomial count.
    EXPECT_GE(held, 0.95 * trials - 5 * std::sqrt(0.95 * 0.05 * trials))
        << lab::stats::name_of(p.law);
    EXPECT_LE(rejected, 0.01 * trials + 5 * std::sqrt(0.01 * trials)) << lab::stats::name_of(p.law);
  }
}

TEST(SweepGrowth, TheTrueLawFitsAndTheOthersDoNot) {
  for (const Planted& p : laws)
    for (const Planted& other : laws) {
      const lab::stats::DimensionFit fit =
          lab::stats::fit_dimension(other.law, planted(p.law, p.u, p.v, 0.1, 7));
      if (other.law == p.law)
        EXPECT_GT(fit.p_value, 1e-4) << lab::stats::name_of(p.law);
      else
        EXPECT_LT(fit.p_value, 1e-6) << lab::stats::name_of(other.law) << " through points of "
                                     << lab::stats::name_of(p.law);
    }
}

TEST(SweepGrowth, TooFewLengthsAreRefused) {
  EXPECT_THROW((void)lab::stats::fit_dimension(lab::stats::DimensionLaw::power,
                                               {{512, 100, 1}, {512, 101, 1}, {1024, 120, 1}}),
               Error);
  EXPECT_THROW((void)lab::stats::fit_dimension(lab::stats::DimensionLaw::confined,
                                               {{50, 100, 1}, {60, 101, 1}, {70, 120, 1}}),
               Error);
}

TEST(SweepGrowth, ChiSquaredTailsAreThoseOfTables) {
  EXPECT_NEAR(lab::stats::chi_squared_tail(1, 3.841458820694124), 0.05, 1e-9);
  EXPECT_NEAR(lab::stats::chi_squared_tail(2, 2 * std::log(100.0)), 0.01, 1e-12);  // e^(−x/2)
  EXPECT_NEAR(lab::stats::chi_squared_tail(10, 18.307038053275146), 0.05, 1e-9);
  EXPECT_NEAR(lab::stats::chi_squared_tail(10, 3.940299136076024), 0.95, 1e-9);
  // For even degrees the tail is a sum of Poisson terms.
  for (const double x : {0.1, 3.0, 40.0, 300.0}) {
    double term = std::exp(-x / 2), sum = 0;
    for (int i = 0; i < 4; ++i, term *= x / (2 * i)) sum += term;
    EXPECT_NEAR(lab::stats::chi_squared_tail(8, x) / sum, 1, 1e-10) << x;
  }
}

}  // namespace
}  // namespace tamis
