// Laws: planted laws are found again, intervals cover, and rows that cannot show a
// law are reported.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <string>
#include <vector>

#include <tamis/error.h>
#include <tamis/lab/law.h>

#include "lab/numbers/random.h"
#include "support/lab/planted.h"

namespace tamis {
namespace {

using test::plant;
using test::plant_gaussian;
using test::PlantedHead;
using test::Planting;

const lab::GaussianNull& null_at_1_percent() {
  static const lab::GaussianNull null(0.01);
  return null;
}

lab::LawFit fit(const PlantedHead& head, lab::LawOptions options = {}) {
  return lab::fit_law(head.rows(), null_at_1_percent(), options);
}

/// The fewest resamples, for tests that do not use the interval.
lab::LawOptions quick(std::uint64_t seed) {
  lab::LawOptions options;
  options.resamples = 99;
  options.seed = seed;
  return options;
}

TEST(Law, PlantedLawsAreFoundAgain) {
  // 256 rows over n = 1k … 8k, with log-normal noise of 0.75. Exponents differ by at least 0.2
  // from every rival: from 0, from 1/log n = 0.125 of the law log n, and from 1.
  constexpr int heads = 250;
  int power = 0;
  int linear = 0;
  for (int h = 0; h < heads; ++h) {
    Planting planting;
    planting.seed = static_cast<std::uint64_t>(h);
    const double C = 0.325 + (0.8 - 0.325) * (h + 0.5) / heads;
    power += fit(test::plant(lab::Law::power, C, 200, planting), quick(planting.seed)).law ==
                     lab::Law::power
                 ? 1
                 : 0;
    linear += fit(test::plant(lab::Law::linear, 1, 400, planting), quick(planting.seed)).law ==
                      lab::Law::linear
                  ? 1
                  : 0;
  }
  EXPECT_GE(power, 0.9 * heads);
  EXPECT_GE(linear, 0.9 * heads);
}

TEST(Law, GaussianLogitsAreTakenForTheNullAndNotForAPowerLaw) {
  // At sigma = 5 the null grows about as n^0.6 over these lengths. It is recognised in about
  // nine of ten heads (docs/results/laws.md); fewer than 13 of 20 would then have a probability
  // below 1 %.
  constexpr int heads = 20;
  int null = 0;
  int power_without = 0;
  for (int h = 0; h < heads; ++h) {
    Planting planting;
    planting.seed = static_cast<std::uint64_t>(h);
    planting.n_low = 128;
    planting.n_high = 2048;
    PlantedHead head = test::plant_gaussian(5, 0.01, planting);
    null += fit(head, quick(planting.seed)).law == lab::Law::gaussian ? 1 : 0;
    head.sigma.clear();
    power_without += fit(head, quick(planting.seed)).best == lab::Law::power ? 1 : 0;
  }
  EXPECT_GE(null, 13);
  EXPECT_GE(power_without, 13);
}

TEST(Law, IntervalForTheExponentCoversItIndependentOrNot) {
  constexpr int heads = 300;
  for (const double correlation : {0.0, 0.6}) {
    int covered = 0;
    for (int h = 0; h < heads; ++h) {
      Planting planting;
      planting.seed = static_cast<std::uint64_t>(h);
      planting.correlation = correlation;
      lab::LawOptions options;
      options.confidence = 0.9;
      options.resamples = 199;
      const lab::LawFit f = fit(test::plant(lab::Law::power, 0.5, 200, planting), options);
      covered += f.C_low <= 0.5 && 0.5 <= f.C_high ? 1 : 0;
    }
    // Five standard errors of a share of 0.9; the campaign measures it more closely.
    EXPECT_NEAR(covered, 0.9 * heads, 5 * std::sqrt(0.09 * heads)) << correlation;
  }
}

TEST(Law, ALawWithoutNoiseIsFoundWithItsNumbers) {
  Planting planting;
  planting.noise = 0;
  const lab::LawFit power = fit(test::plant(lab::Law::power, 0.6, 500, planting));
  EXPECT_EQ(power.law, lab::Law::power);
  EXPECT_NEAR(power.C, 0.6, 0.005);  // k is rounded to integers: 1/(2·k) each
  EXPECT_LT(power.C_low, power.C + 1e-12);
  EXPECT_GT(power.C_high, power.C - 1e-12);
  EXPECT_NEAR(lab::predicted_k_eps(power, null_at_1_percent(), 3000), 500, 1);
  const lab::LawFit log = fit(test::plant(lab::Law::logarithmic, 0, 500, planting));
  EXPECT_EQ(log.law, lab::Law::logarithmic);
  EXPECT_NEAR(lab::predicted_k_eps(log, null_at_1_percent(), 3000), 500, 1);
  const lab::LawFit constant = fit(test::plant(lab::Law::constant, 0, 7, planting));
  EXPECT_EQ(constant.law, lab::Law::constant);
  EXPECT_NEAR(constant.alpha, 7, 1e-9);
  EXPECT_NEAR(constant.C, 0, 1e-12);
  const lab::LawFit linear = fit(test::plant(lab::Law::linear, 1, 3000, planting));
  EXPECT_EQ(linear.law, lab::Law::linear);  // k = n: every key is needed
  EXPECT_NEAR(linear.alpha, 1, 1e-12);
  EXPECT_EQ(lab::predicted_k_eps(linear, null_at_1_percent(), 77), 77);
}

TEST(Law, OrderOfRowsAndRepetitionDoNotMatter) {
  Planting planting;
  planting.sigma = 3;
  const PlantedHead head = test::plant(lab::Law::power, 0.5, 200, planting);
  PlantedHead shuffled = head;
  const lab::numbers::Stream stream(1, lab::numbers::Purpose::test, 99);
  for (std::size_t i = head.n.size(); i-- > 1;) {
    const auto j = stream.below(i + 1, static_cast<std::uint32_t>(i));
    std::swap(shuffled.n[i], shuffled.n[j]);
    std::swap(shuffled.k_eps[i], shuffled.k_eps[j]);
  }
  // Rows of equal n would keep their order of arrival, so every row gets an n of its own.
  PlantedHead distinct = head;
  for (std::size_t i = 0; i < distinct.n.size(); ++i)
    distinct.n[i] = 1024 + 28 * static_cast<double>(i);
  PlantedHead reversed = distinct;
  std::reverse(reversed.n.begin(), reversed.n.end());
  std::reverse(reversed.k_eps.begin(), reversed.k_eps.end());
  const lab::LawFit a = fit(distinct);
  const lab::LawFit b = fit(reversed);
  const lab::LawFit c = fit(distinct);
  EXPECT_EQ(a.C_low, b.C_low);
  EXPECT_EQ(a.C_high, b.C_high);
  EXPECT_EQ(a.C_high, c.C_high);
  EXPECT_EQ(a.scores[0].probability, b.scores[0].probability);
  EXPECT_EQ(fit(shuffled).law, fit(head).law);
  lab::LawOptions other;
  other.seed = 2;
  EXPECT_NE(fit(distinct, other).C_low, a.C_low);
}

TEST(Law, ProbabilitiesSumToOneAndTheFirstIsTheBest) {
  Planting planting;
  planting.sigma = 3;
  const lab::LawFit f = fit(test::plant(lab::Law::power, 0.4, 200, planting));
  ASSERT_EQ(f.scores.size(), 5U);
  double sum = 0;
  for (std::size_t i = 0; i < f.scores.size(); ++i) {
    sum += f.scores[i].probability;
    EXPECT_LE(f.scores[i].probability, i == 0 ? 1 : f.scores[i - 1].probability);
  }
  EXPECT_NEAR(sum, 1, 1e-12);
  EXPECT_EQ(f.scores[0].law, f.best);
  EXPECT_EQ(f.sigma, 3);
  EXPECT_EQ(f.scores[0].alpha, f.alpha);
}

TEST(Law, AHumpFollowsNoLaw) {
  Planting planting;
  planting.noise = 0.3;
  PlantedHead head = test::plant(lab::Law::constant, 0, 300, planting);
  for (std::size_t i = 0; i < head.n.size(); ++i) {
    const double place = (head.n[i] - 4600) / 1200;
    head.k_eps[i] =
        std::clamp(std::round(head.k_eps[i] * std::exp(std::exp(-place * place))), 1.0, head.n[i]);
  }
  const lab::LawFit f = fit(head);
  EXPECT_EQ(f.law, lab::Law::none);
  EXPECT_NE(f.best, lab::Law::none);
  EXPECT_LT(f.p_value, 0.01);
  EXPECT_GT(f.lack_of_fit, 0.2);
  EXPECT_NE(f.reason.find("misses k_eps"), std::string::npos);
  EXPECT_GT(f.alpha, 0);
  EXPECT_FALSE(std::isnan(lab::predicted_k_eps(f, null_at_1_percent(), 2000)));
}

TEST(Law, AHeadAtItsFloorIsConstant) {
  Planting planting;
  planting.noise = 1.5;
  const PlantedHead head = test::plant(lab::Law::power, 0.5, 0.9, planting);
  const lab::LawFit f = fit(head);
  EXPECT_EQ(f.k_median, 1);
  EXPECT_EQ(f.law, lab::Law::constant);
  EXPECT_NE(f.reason.find("least value"), std::string::npos);
  EXPECT_FALSE(f.scores.empty());
}

TEST(Law, RowsThatCannotCarryALawSayWhyAndGiveWhatTheyCan) {
  const lab::GaussianNull& null = null_at_1_percent();
  Planting planting;
  planting.rows = 10;
  const lab::LawFit few = fit(test::plant(lab::Law::power, 0.5, 100, planting));
  EXPECT_EQ(few.law, lab::Law::none);
  EXPECT_EQ(few.best, lab::Law::none);
  EXPECT_EQ(few.reason, "10 rows; a law needs at least 24");
  EXPECT_EQ(few.rows, 10);
  EXPECT_GT(few.k_median, 1);
  EXPECT_GT(few.alpha, 1);
  EXPECT_TRUE(std::isnan(few.C));
  EXPECT_TRUE(std::isnan(lab::predicted_k_eps(few, null, 100)));

  planting.rows = 100;
  planting.n_low = planting.n_high = 512;
  const lab::LawFit one_length = fit(test::plant(lab::Law::power, 0.5, 100, planting));
  EXPECT_EQ(one_length.law, lab::Law::none);
  EXPECT_EQ(one_length.reason, "all rows see n = 512 keys; a law needs different lengths");
  EXPECT_EQ(one_length.n_low, 512);

  planting.n_high = 900;
  EXPECT_NE(
      fit(test::plant(lab::Law::power, 0.5, 100, planting)).reason.find("factor of at least 2"),
      std::string::npos);

  const lab::LawFit empty = lab::fit_law({}, null);
  EXPECT_EQ(empty.rows, 0);
  EXPECT_TRUE(std::isnan(empty.k_median));
  EXPECT_EQ(empty.reason, "0 rows; a law needs at least 24");
}

TEST(Law, ShortRowsAreNoTrouble) {
  // n starts at 1, where log n is 0 and k can only be 1.
  std::vector<double> n(200);
  std::iota(n.begin(), n.end(), 1.0);
  std::vector<double> k = n;
  for (double& x : k) x = std::ceil(0.99 * x);
  const std::vector<double> sigma(200, 0.0);
  const lab::LawFit f = lab::fit_law({n, k, sigma}, null_at_1_percent());
  EXPECT_TRUE(f.best == lab::Law::linear || f.best == lab::Law::gaussian) << lab::name_of(f.best);
  for (const lab::LawScore& s : f.scores)
    EXPECT_TRUE(std::isfinite(s.log_evidence)) << lab::name_of(s.law);
}

TEST(Law, RefusesWhatIsNoHead) {
  const lab::GaussianNull& null = null_at_1_percent();
  const std::vector<double> n{10, 20};
  const std::vector<double> k{1, 2};
  const std::vector<double> zero{0, 2};
  const std::vector<double> more{11, 2};
  EXPECT_THROW((void)lab::fit_law({n, zero, {}}, null), Error);
  EXPECT_THROW((void)lab::fit_law({n, more, {}}, null), Error);
  EXPECT_THROW((void)lab::fit_law({zero, k, {}}, null), Error);
  EXPECT_THROW((void)lab::fit_law({n, std::vector<double>{1}, {}}, null), Error);
  EXPECT_THROW((void)lab::fit_law({n, k, std::vector<double>{1}}, null), Error);
  EXPECT_THROW((void)lab::fit_law({n, k, std::vector<double>{1, -1}}, null), Error);
  EXPECT_THROW((void)lab::fit_law({n, std::vector<double>{1, std::nan("")}, {}}, null), Error);
  for (int which = 0; which < 4; ++which) {
    lab::LawOptions options;
    if (which == 0) options.confidence = 1;
    if (which == 1) options.significance = 1;
    if (which == 2) options.material = -1;
    if (which == 3) options.resamples = 10;
    EXPECT_THROW((void)lab::fit_law({n, k, {}}, null, options), Error) << which;
  }
}

TEST(Law, NamesAreThoseOfTheTable) {
  EXPECT_EQ(lab::name_of(lab::Law::constant), "constant");
  EXPECT_EQ(lab::name_of(lab::Law::logarithmic), "log");
  EXPECT_EQ(lab::name_of(lab::Law::power), "power");
  EXPECT_EQ(lab::name_of(lab::Law::linear), "linear");
  EXPECT_EQ(lab::name_of(lab::Law::gaussian), "gaussian");
  EXPECT_EQ(lab::name_of(lab::Law::none), "none");
}

}  // namespace
}  // namespace tamis
