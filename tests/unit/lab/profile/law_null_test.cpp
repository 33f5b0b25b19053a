// The Gaussian null against simulated rows of logits, its limits and its edge cases.
#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include <tamis/error.h>
#include <tamis/lab/law.h>

#include "lab/numbers/random.h"
#include "lab/stats/special.h"
#include "support/lab/planted.h"

namespace tamis {
namespace {

using test::k_eps_by_sorting;

struct Sample {
  double log_mean = 0;
  double log_sd = 0;
  double mean = 0;
  double sd = 0;
  double below = 0;  ///< share of rows with k_eps below `median`
  /// share of rows with k_eps at most `median`
  double up_to = 0;
};

Sample simulate(std::size_t n, double sigma, double eps, std::size_t rows, double median) {
  std::vector<double> logits(n);
  Sample s;
  double log_squares = 0;
  double squares = 0;
  for (std::size_t row = 0; row < rows; ++row) {
    lab::numbers::Stream(n, lab::numbers::Purpose::test, row).fill_normal(logits);
    for (double& x : logits) x *= sigma;
    const double k = test::k_eps_by_sorting(logits, eps);
    s.log_mean += std::log(k) / static_cast<double>(rows);
    log_squares += std::log(k) * std::log(k) / static_cast<double>(rows);
    s.mean += k / static_cast<double>(rows);
    squares += k * k / static_cast<double>(rows);
    s.below += (k < median ? 1.0 : 0.0) / static_cast<double>(rows);
    s.up_to += (k <= median ? 1.0 : 0.0) / static_cast<double>(rows);
  }
  s.log_sd = std::sqrt(std::max(0.0, log_squares - s.log_mean * s.log_mean));
  s.sd = std::sqrt(std::max(0.0, squares - s.mean * s.mean));
  return s;
}

/// The accuracy that law.h states; five standard errors of the simulation come on top.
constexpr double stated = 0.03;

TEST(GaussianNull, AgreesWithSimulatedLogits) {
  for (const double eps : {0.01, 0.1}) {
    const lab::GaussianNull null(eps);
    for (const std::size_t n :
         {std::size_t{64}, std::size_t{300}, std::size_t{1500}, std::size_t{6000}}) {
      for (const double sigma : {0.3, 1.2, 2.0, 3.1, 4.0, 6.3, 9.0, 15.0}) {
        const std::size_t rows = 120'000 / n + 50;
        const double median = lab::gaussian_k_eps(static_cast<double>(n), sigma, eps);
        const Sample s = simulate(n, sigma, eps, rows, median);
        const lab::GaussianKEps predicted = null.at(static_cast<double>(n), sigma);
        const double error = 5 / std::sqrt(static_cast<double>(rows));
        EXPECT_NEAR(predicted.log_mean, s.log_mean, stated + error * s.log_sd)
            << n << ' ' << sigma << ' ' << eps;
        // The relative error of a standard deviation is at most about that of a mean of squares.
        EXPECT_NEAR(predicted.log_sd, s.log_sd, stated + error * s.log_sd)
            << n << ' ' << sigma << ' ' << eps;
        EXPECT_NEAR(predicted.mean, s.mean, 0.05 * s.mean + error * s.sd)
            << n << ' ' << sigma << ' ' << eps;
        // The median is the middle one of 256 draws, whose ranks are accurate to
        // about a twentieth.
        EXPECT_LE(s.below, 0.5 + 0.05 + 0.5 * error) << n << ' ' << sigma << ' ' << eps;
        EXPECT_GE(s.up_to, 0.5 - 0.05 - 0.5 * error) << n << ' ' << sigma << ' ' << eps;
      }
    }
  }
}

TEST(GaussianNull, IsCoarserForShortRows) {
  const lab::GaussianNull null(0.05);
  for (const std::size_t n : {std::size_t{3}, std::size_t{11}, std::size_t{23}, std::size_t{50}})
    for (const double sigma : {0.2, 1.0, 2.7, 5.0, 12.0}) {
      const Sample s = simulate(n, sigma, 0.05, 4000, 0);
      const lab::GaussianKEps predicted = null.at(static_cast<double>(n), sigma);
      EXPECT_NEAR(predicted.log_mean, s.log_mean, 0.1 + 5 * s.log_sd / std::sqrt(4000.0))
          << n << ' ' << sigma;
      EXPECT_NEAR(predicted.log_sd, s.log_sd, 0.1 + 5 * s.log_sd / std::sqrt(4000.0))
          << n << ' ' << sigma;
    }
}

TEST(GaussianNull, ApproachesTheLimitWhereManyKeysLieAboveTheThreshold) {
  // The next term of k/n has relative order 1/(n·Φᶜ(sigma)) or less, which is far below
  // a thousandth here.
  for (const double eps : {0.01, 0.05, 0.3}) {
    const lab::GaussianNull null(eps);
    for (const double sigma : {0.5, 1.0, 1.5}) {
      const double limit = lab::stats::normal_tail(sigma - lab::stats::normal_tail_quantile(eps));
      EXPECT_NEAR(null.at(1 << 20, sigma).mean / (1 << 20), limit, 1e-3 * limit)
          << sigma << ' ' << eps;
    }
  }
}

TEST(GaussianNull, LooksLikeAPowerLawLongBeforeItIsLinear) {
  // sigma = 4, eps = 0.05: k/n falls from six times the limit 0.0093 to 1.5 times the limit
  // between n = 256 and 65,536.
  const lab::GaussianNull null(0.05);
  const lab::GaussianKEps small = null.at(256, 4);
  const lab::GaussianKEps large = null.at(65536, 4);
  const double limit = lab::stats::normal_tail(4 - lab::stats::normal_tail_quantile(0.05));
  EXPECT_NEAR(limit, 0.0093, 5e-5);
  EXPECT_GT(small.mean / 256, 5 * limit);
  EXPECT_GT(large.mean / 65536, 1.3 * limit);
  const double exponent = (large.log_mean - small.log_mean) / std::log(256.0);
  EXPECT_GT(exponent, 0.7);
  EXPECT_LT(exponent, 0.8);
}

TEST(GaussianNull, EqualLogitsNeedTheirShareOfKeysExactly) {
  for (const double n : {1.0, 2.0, 7.0, 16.0, 17.0, 100.0, 5000.0, 1048576.0})
    for (const double eps : {0.01, 0.05, 0.5})
      EXPECT_EQ(lab::gaussian_k_eps(n, 0, eps), std::ceil((1 - eps) * n - 1e-6)) << n << ' ' << eps;
}

TEST(GaussianNull, OneKeyIsOneKeyAndMoreSpreadNeverNeedsMore) {
  const lab::GaussianNull null(0.05);
  EXPECT_EQ(null.at(1, 3).log_mean, 0);
  EXPECT_EQ(null.at(1, 3).mean, 1);
  for (const double n : {2.0, 33.0, 1000.0, 70000.0}) {
    double last = std::log(n) + 1e-12;
    for (double sigma = 0; sigma <= 40; sigma += 0.7) {
      const double log_k = null.at(n, sigma).log_mean;
      EXPECT_GE(log_k, 0);
      EXPECT_LE(log_k, last + 1e-3) << n << ' ' << sigma;  // the cubic may exceed a node by less
      last = log_k;
    }
  }
  EXPECT_LT(lab::gaussian_k_eps(1 << 20, 1000, 0.01),
            2.5);  // far beyond the table, nothing overflows
}

TEST(GaussianNull, TableAndDirectAnswerMeet) {
  const lab::GaussianNull null(0.05);
  // Both sides of the points where steps change and where the table ends.
  for (const double n : {100.0, 5000.0})
    EXPECT_NEAR(null.at(n, 10).log_mean, null.at(n, 10 * (1 + 1e-9)).log_mean, 1e-6);
  for (const double sigma : {1.0, 4.0, 8.0, 30.0}) {
    EXPECT_NEAR(null.at(0x1p20, sigma).log_mean, null.at(0x1p20 * (1 + 1e-9), sigma).log_mean,
                1e-6);
    // Beyond the table the answer is computed directly, not interpolated over sigma.
    EXPECT_NEAR(null.at(0x1p32, sigma).log_mean, null.at(0x1p32 * (1 + 1e-9), sigma).log_mean,
                stated);
  }
}

TEST(GaussianNull, LargeSpreadsAgreeWithSimulatedLogits) {
  for (const double eps : {0.001, 0.05}) {
    const lab::GaussianNull null(eps);
    for (const std::size_t n : {std::size_t{64}, std::size_t{1500}})
      for (const double sigma : {11.0, 21.0, 45.0, 150.0, 700.0, 9000.0}) {
        const std::size_t rows = 300'000 / n + 50;
        const Sample s = simulate(n, sigma, eps, rows, 0);
        const lab::GaussianKEps predicted = null.at(static_cast<double>(n), sigma);
        const double error = 5 / std::sqrt(static_cast<double>(rows));
        EXPECT_NEAR(predicted.log_mean, s.log_mean, stated + error * s.log_sd)
            << n << ' ' << sigma << ' ' << eps;
        // k is 1 in nearly all rows. A deviation d that comes from few rows with log k of
        // about log 2 has the error of the share of these rows, (d/log 2)², which may
        // reach 5·log 2/(2·√rows).
        EXPECT_NEAR(predicted.log_sd, s.log_sd, stated + error * (s.log_sd + 0.35))
            << n << ' ' << sigma << ' ' << eps;
        EXPECT_GE(predicted.median, 1);
      }
    for (const double n : {1.0, 2.0, 0x1p20, 0x1p31}) {
      EXPECT_NEAR(null.at(n, 1e18).mean, 1, 1e-3);
      EXPECT_EQ(null.at(n, 1e300).log_sd, 0);
    }
  }
}

TEST(GaussianNull, LongRowsAgreeWithTheMedianComputedForThem) {
  const lab::GaussianNull null(0.05);
  for (const double n : {3e6, 5e7, 1e9, 4e9})
    for (const double sigma : {0.5, 2.0, 3.3, 5.0, 7.7, 12.0, 25.0, 90.0}) {
      // The tolerance is one draw of 256, where draws are spaced by the row-to-row deviation,
      // log_sd/256·√(2π), plus the table's stated accuracy. Medians below 10 are integers, which
      // the table smooths.
      const double direct = lab::gaussian_k_eps(n, sigma, 0.05);
      const lab::GaussianKEps table = null.at(n, sigma);
      const double whole = direct < 10 ? std::log(1 + 1 / direct) : 0;
      EXPECT_NEAR(std::log(table.median), std::log(direct),
                  stated + table.log_sd * 2.51 / 256 * 2 + whole)
          << n << ' ' << sigma;
    }
}

TEST(GaussianNull, TinyEpsAndLargeSpreadsDoNotUnderflow) {
  // P(Z > sigma − 16th largest) is not representable from sigma = 43 on, and k lies far
  // below the 16th.
  double last = 0x1p20;
  for (double sigma = 30; sigma <= 120; sigma += 5) {
    const double k = lab::gaussian_k_eps(0x1p20, sigma, 1e-60);
    EXPECT_GE(k, 1);
    EXPECT_LE(k, last) << sigma;
    last = k;
  }
  const lab::GaussianNull null(1e-60);
  for (const double sigma : {50.0, 80.0}) {
    const Sample s = simulate(65536, sigma, 1e-60, 20, 0);
    EXPECT_NEAR(null.at(65536, sigma).log_mean, s.log_mean,
                stated + 5 * s.log_sd / std::sqrt(20.0));
  }
  EXPECT_LE(lab::gaussian_k_eps(0x1p20, 1e9, 1e-60), 2);
}

TEST(GaussianNull, RefusesWhatIsNoRow) {
  EXPECT_THROW(lab::GaussianNull(0), Error);
  EXPECT_THROW(lab::GaussianNull(1), Error);
  EXPECT_THROW((void)lab::gaussian_k_eps(10, 1, std::nan("")), Error);
  const lab::GaussianNull null(0.1);
  EXPECT_THROW((void)null.at(0.5, 1), Error);
  EXPECT_THROW((void)null.at(10, -1), Error);
  EXPECT_THROW((void)null.at(10, INFINITY), Error);
  EXPECT_THROW((void)null.at(std::nan(""), 1), Error);
}

}  // namespace
}  // namespace tamis
