// The parts that laws are built from: evidence against brute force, the correlation of noise, and
// the test for lack of fit.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "lab/numbers/random.h"
#include "lab/stats/evidence.h"
#include "lab/stats/lack_of_fit.h"
#include "lab/stats/series.h"

namespace tamis {
namespace {

/// Autoregressive noise with variance 1.
std::vector<double> noise(std::size_t rows, double rho, std::uint64_t row) {
  const lab::numbers::Stream stream(3, lab::numbers::Purpose::test, row);
  std::vector<double> e(rows);
  for (std::size_t i = 0; i < rows; ++i) {
    const double fresh = stream.normal(static_cast<std::uint32_t>(i));
    e[i] = i == 0 ? fresh : rho * e[i - 1] + std::sqrt(1 - rho * rho) * fresh;
  }
  return e;
}

lab::stats::Series series_of(const std::vector<double>& y) {
  lab::stats::Series series;
  series.y = y;
  for (std::size_t i = 0; i < y.size(); ++i) {
    series.n.push_back(1000 + 28 * static_cast<double>(i));
    series.x.push_back(std::log(series.n.back()));
  }
  return series;
}

TEST(Evidence, OfThePowerLawIsTheIntegralOverTheExponent) {
  struct Case {
    double squares, sxx, slope, rows;
  };
  for (const Case& c : {Case{144, 77, 0.5, 256}, Case{144, 77, -0.4, 256},
                        Case{144, 77, 1.6, 250.5}, Case{20, 4, 0.1, 24}, Case{0.05, 77, 0.3, 256},
                        Case{1e-3, 77, 1.0, 256}, Case{3, 0.5, 2, 3.5}}) {
    // The logarithm of a midpoint sum over 0 … 1, fine enough for the narrowest of these peaks.
    constexpr int steps = 400000;
    double most = -INFINITY;
    std::vector<double> terms(steps);
    for (int i = 0; i < steps; ++i) {
      const double C = (i + 0.5) / steps;
      terms[static_cast<std::size_t>(i)] =
          lab::stats::log_evidence(c.squares + c.sxx * (C - c.slope) * (C - c.slope), c.rows);
      most = std::max(most, terms[static_cast<std::size_t>(i)]);
    }
    double sum = 0;
    for (const double t : terms) sum += std::exp(t - most) / steps;
    EXPECT_NEAR(lab::stats::log_evidence_power(c.squares, c.sxx, c.slope, c.rows),
                most + std::log(sum), 1e-5)
        << c.slope << ' ' << c.rows;
  }
}

TEST(Evidence, IsTheIntegralOverLevelAndNoise) {
  // The ratio, for two sets of residuals, of ∫∫ of the Gaussian likelihood with d(log alpha) d(log
  // s), by a midpoint sum.
  const auto brute = [](double squares, double rows) {
    double sum = 0;
    for (double log_s = -4; log_s < 6; log_s += 0.002)  // the level integrates to s·√(2π/rows)
      sum += std::exp(-(rows - 1) * log_s - 0.5 * squares * std::exp(-2 * log_s)) * 0.002;
    return std::log(sum);
  };
  EXPECT_NEAR(lab::stats::log_evidence(7, 30) - lab::stats::log_evidence(11, 30),
              brute(7, 30) - brute(11, 30), 1e-6);
}

TEST(Dependence, IsSeenWhereItIsAndNotWhereItIsNot) {
  // A correlation r estimated from N rows has a standard error of √((1 − r²)/N); the bound is
  // five of them.
  constexpr std::size_t rows = 4096;
  for (const double rho : {0.0, 0.3, 0.6, 0.8}) {
    const lab::stats::Dependence d = lab::stats::dependence(series_of(noise(rows, rho, 1)));
    EXPECT_NEAR(d.autocorrelation, rho, 5 * std::sqrt((1 - rho * rho) / rows)) << rho;
    const double inflation = (1 + rho) / (1 - rho);
    EXPECT_GT(d.inflation, 0.8 * inflation) << rho;
    EXPECT_LT(d.inflation, 1.3 * inflation + 0.2) << rho;
    EXPECT_GE(d.block, 16);  // 4096^(1/3)
    EXPECT_GE(d.shortfall, 1);
    EXPECT_LT(d.shortfall, 1.3);
  }
}

TEST(Dependence, ATrendIsNotTakenForIt) {
  lab::stats::Series series = series_of(noise(256, 0, 2));
  for (std::size_t i = 0; i < 256; ++i)
    series.y[i] = 0.1 * series.y[i] + std::pow(series.x[i] - 7.5, 3);
  EXPECT_LT(lab::stats::dependence(series).autocorrelation,
            5 / 16.0);  // five standard errors at correlation 0
}

TEST(Dependence, DegenerateSeriesAreHarmless) {
  const lab::stats::Dependence flat =
      lab::stats::dependence(series_of(std::vector<double>(30, 2.0)));
  EXPECT_GE(flat.inflation, 1);
  EXPECT_TRUE(std::isfinite(flat.shortfall));
  lab::stats::Series two = series_of(noise(40, 0, 3));
  for (std::size_t i = 0; i < 40; ++i) two.x[i] = i < 20 ? 1 : 2;  // a cubic needs four lengths
  EXPECT_TRUE(std::isfinite(lab::stats::dependence(two).inflation));
}

TEST(LackOfFit, IsSignificantAsOftenAsItSaysIfTheLawHolds) {
  constexpr int heads = 2000;
  int below = 0;
  for (int h = 0; h < heads; ++h) {
    std::vector<double> e = noise(256, 0, 100 + static_cast<std::uint64_t>(h));
    double mean = 0;
    for (const double x : e) mean += x / 256;
    for (double& x : e) x -= mean;
    below += lab::stats::lack_of_fit(e, 1, 1).p_value < 0.05 ? 1 : 0;
  }
  EXPECT_NEAR(below, 0.05 * heads, 5 * std::sqrt(0.05 * 0.95 * heads));
}

TEST(LackOfFit, MeasuresWhatWasMissed) {
  std::vector<double> e = noise(4096, 0, 7);
  for (std::size_t i = 0; i < e.size(); ++i) e[i] = 0.1 * e[i] + (i % 4096 < 2048 ? 0.5 : -0.5);
  const lab::stats::LackOfFit misfit = lab::stats::lack_of_fit(e, 1, 1);
  EXPECT_NEAR(misfit.size, 0.5, 0.01);
  EXPECT_LT(misfit.p_value, 1e-10);
  const lab::stats::LackOfFit none = lab::stats::lack_of_fit(std::vector<double>(24, 0.0), 2, 1);
  EXPECT_EQ(none.size, 0);
  EXPECT_EQ(none.p_value, 1);
}

}  // namespace
}  // namespace tamis
