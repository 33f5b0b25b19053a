// Split-conformal rules: the order statistic, coverage over exchangeable rows, the split, and the
// table of rules.
#include <tamis/lab/conformal.h>

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <vector>

#include <tamis/error.h>

#include "lab/numbers/random.h"
#include "support/lab/planted.h"

namespace tamis {
namespace {

using test::plant;
using test::PlantedHead;
using test::Planting;

TEST(Conformal, AlphaIsTheOrderStatisticOfTheCalibrationRows) {
  // Nine calibration rows at C = 0, delta = 0.2: the rank is ⌈0.8·10⌉ = 8.
  std::vector<double> n(12, 100);
  const std::vector<double> k{7, 3, 9, 1, 5, 8, 2, 6, 4, 100, 50, 8};
  std::vector<lab::Part> parts(12, lab::Part::calibration);
  parts[9] = lab::Part::fit;
  parts[10] = parts[11] = lab::Part::held_out;
  const lab::Conformal rule = lab::calibrate_power(n, k, parts, 0, 0.2);
  EXPECT_EQ(rule.rows, 9);
  EXPECT_EQ(rule.rank, 8);
  EXPECT_EQ(rule.alpha, 8);
  EXPECT_TRUE(rule.finite());
  EXPECT_EQ(rule.held_out.rows, 2);
  EXPECT_EQ(rule.held_out.covered, 1);
  EXPECT_EQ(rule.mean_keys, 8);
}

RC_GTEST_PROP(Conformal, ServesAtLeastRankCalibrationRowsAndNotIfAlphaWereSmaller, ()) {
  const auto seed = *rc::gen::arbitrary<std::uint32_t>();
  const double C = *rc::gen::element(0.0, 0.3, 0.5, 1.0);
  const double delta = *rc::gen::element(0.05, 0.1, 0.5);
  Planting planting;
  planting.rows = *rc::gen::inRange(1, 80);
  planting.seed = seed;
  const PlantedHead head = test::plant(lab::Law::power, 0.5, 100, planting);
  const std::vector<lab::Part> parts(head.n.size(), lab::Part::calibration);
  const lab::Conformal rule = lab::calibrate_power(head.n, head.k_eps, parts, C, delta);
  const auto served = [&](double alpha) {
    std::int64_t count = 0;
    for (std::size_t i = 0; i < head.n.size(); ++i)
      count += std::ceil(alpha * std::pow(head.n[i], C)) >= head.k_eps[i] ? 1 : 0;
    return count;
  };
  const double exact = (1 - delta) * static_cast<double>(rule.rows + 1);
  RC_ASSERT(static_cast<double>(rule.rank) >= exact - 1e-9);
  RC_ASSERT(static_cast<double>(rule.rank) < exact + 1);
  if (!rule.finite()) {
    RC_ASSERT(std::isinf(rule.alpha));
    RC_ASSERT(static_cast<double>(rule.rows) < 1 / delta - 1 + 1e-9);
    RC_ASSERT(rule.keys(500) == 500);
    return;
  }
  RC_ASSERT(served(rule.alpha) >= rule.rank);
  // With one key fewer in every row, the row of that rank is no longer served.
  std::int64_t fewer = 0;
  for (std::size_t i = 0; i < head.n.size(); ++i)
    fewer += rule.alpha * std::pow(head.n[i], C) - 1 >= head.k_eps[i] ? 1 : 0;
  RC_ASSERT(fewer < rule.rank);
}

TEST(Conformal, TooFewRowsMakeTheRuleReadEverything) {
  const std::vector<double> n(8, 50);
  const std::vector<double> k(8, 5);
  std::vector<lab::Part> parts(8, lab::Part::calibration);
  parts[7] = lab::Part::held_out;
  const lab::Conformal rule =
      lab::calibrate_power(n, k, parts, 0.5, 0.1);  // 1/delta − 1 = 9 rows would suffice
  EXPECT_FALSE(rule.finite());
  EXPECT_TRUE(std::isinf(rule.alpha));
  EXPECT_EQ(rule.mean_keys, 50);
  EXPECT_EQ(rule.held_out.rate, 1);
  const lab::Conformal none = lab::calibrate_power({}, {}, {}, 0.5, 0.1);
  EXPECT_FALSE(none.finite());
  EXPECT_TRUE(std::isnan(none.held_out.rate));
}

TEST(Conformal, RankIsAtLeastOneForDeltaNextToOne) {
  const std::vector<double> n(3, 50);
  const std::vector<double> k{5, 3, 4};
  const std::vector<lab::Part> parts(3, lab::Part::calibration);
  for (const double delta : {1 - 1e-9, 1 - 1e-12, std::nextafter(1.0, 0.0)}) {
    const lab::Conformal rule = lab::calibrate_power(n, k, parts, 0, delta);
    EXPECT_EQ(rule.rank, 1) << 1 - delta;
    EXPECT_EQ(rule.alpha, 3) << 1 - delta;
    const lab::Conformal none = lab::calibrate_power({}, {}, {}, 0, delta);
    EXPECT_EQ(none.rank, 1) << 1 - delta;
    EXPECT_FALSE(none.finite());
    EXPECT_TRUE(std::isinf(none.alpha));
  }
}

TEST(Conformal, CoversNewExchangeableRowsAtThePromisedRate) {
  // Over many heads the mean coverage is rank/(m + 1) ≥ 1 − delta for rows without ties; ties only
  // add to it.
  for (const double delta : {0.05, 0.2}) {
    double sum = 0;
    double squares = 0;
    double promised = 0;
    constexpr int heads = 400;
    for (int h = 0; h < heads; ++h) {
      Planting planting;
      planting.seed = static_cast<std::uint64_t>(h);
      const PlantedHead head =
          test::plant(lab::Law::power, 0.5, 2000, planting);  // large k: hardly any ties
      const std::vector<lab::Part> parts = lab::split_rows(head.n, 0, planting.seed);
      const lab::Conformal rule = lab::calibrate_power(
          head.n, head.k_eps, parts, lab::fit_exponent(head.n, head.k_eps, parts), delta);
      sum += rule.held_out.rate;
      squares += rule.held_out.rate * rule.held_out.rate;
      promised += static_cast<double>(rule.rank) / static_cast<double>(rule.rows + 1);
    }
    const double mean = sum / heads;
    const double error = std::sqrt((squares / heads - mean * mean) / heads);
    EXPECT_GE(promised / heads, 1 - delta);
    EXPECT_NEAR(mean, promised / heads, 5 * error) << delta;
  }
}

TEST(Conformal, WindowCountsItsSinksAsRead) {
  const std::vector<double> n{10, 200, 200, 200};
  const std::vector<double> w{4, 60, 40, 0};
  const std::vector<lab::Part> parts{lab::Part::calibration, lab::Part::calibration,
                                     lab::Part::held_out, lab::Part::held_out};
  const lab::Conformal rule = lab::calibrate_window(n, w, parts, 4, 0.4);  // rank ⌈0.6·3⌉ = 2
  EXPECT_EQ(rule.alpha, 60);
  EXPECT_EQ(rule.keys(200), 64);
  EXPECT_EQ(rule.keys(62), 62);
  EXPECT_EQ(rule.held_out.covered, 2);
  EXPECT_EQ(rule.mean_keys, 64);
}

TEST(Conformal, SplitIsOfBlocksThatInterleaveOverAllLengths) {
  std::vector<double> n;
  for (int i = 0; i < 240; ++i) n.push_back(1000 + (i * 67) % 240);  // in no particular order
  const std::vector<lab::Part> parts = lab::split_rows(n, 8, 3);
  EXPECT_EQ(parts, lab::split_rows(n, 8, 3));
  EXPECT_NE(parts, lab::split_rows(n, 8, 4));
  std::vector<lab::Part> ordered(240);
  for (std::size_t i = 0; i < n.size(); ++i)
    ordered[static_cast<std::size_t>(n[i] - 1000)] = parts[i];
  for (std::size_t block = 0; block < 30; ++block)
    for (std::size_t i = 1; i < 8; ++i) EXPECT_EQ(ordered[8 * block + i], ordered[8 * block]);
  for (std::size_t three = 0; three < 10; ++three) {
    std::map<lab::Part, int> seen;
    for (std::size_t i = 0; i < 3; ++i) ++seen[ordered[24 * three + 8 * i]];
    EXPECT_EQ(seen.size(), 3U);
  }
  EXPECT_TRUE(lab::split_rows({}, 0, 1).empty());
}

TEST(Conformal, ExponentComesFromTheFitRowsAlone) {
  const std::vector<double> n{100, 400, 900, 1600, 2500};
  const std::vector<double> k{10, 20, 30, 1, 2500};
  const std::vector<lab::Part> parts{lab::Part::fit, lab::Part::fit, lab::Part::fit,
                                     lab::Part::held_out, lab::Part::calibration};
  EXPECT_NEAR(lab::fit_exponent(n, k, parts), 0.5, 1e-12);
  const std::vector<double> shrinking{30, 20, 10, 1, 1};
  EXPECT_EQ(lab::fit_exponent(n, shrinking, parts), 0);
  const std::vector<double> same(5, 2500);
  EXPECT_EQ(lab::fit_exponent(same, k, std::vector<lab::Part>(5, lab::Part::held_out)), 0);
  EXPECT_EQ(lab::fit_exponent({}, {}, {}), 0);
}

TEST(Conformal, CoverageIntervalIsExact) {
  // Clopper and Pearson: at each end the binomial tail has probability 2.5 %.
  const auto tail = [](std::int64_t from, std::int64_t to, double p) {
    double sum = 0;
    for (std::int64_t i = from; i <= to; ++i)
      sum += std::exp(std::lgamma(41.0) - std::lgamma(static_cast<double>(i) + 1) -
                      std::lgamma(41.0 - static_cast<double>(i)) +
                      static_cast<double>(i) * std::log(p) +
                      static_cast<double>(40 - i) * std::log1p(-p));
    return sum;
  };
  const lab::Coverage c = lab::coverage(36, 40);
  EXPECT_EQ(c.rate, 0.9);
  EXPECT_NEAR(tail(36, 40, c.low), 0.025, 1e-9);
  EXPECT_NEAR(tail(0, 36, c.high), 0.025, 1e-9);
  EXPECT_EQ(lab::coverage(0, 40).low, 0);
  EXPECT_EQ(lab::coverage(40, 40).high, 1);
  EXPECT_NEAR(lab::coverage(40, 40).low, std::pow(0.025, 1 / 40.0), 1e-9);
  EXPECT_TRUE(std::isnan(lab::coverage(0, 0).rate));
  EXPECT_EQ(lab::coverage(0, 0).low, 0);
  EXPECT_EQ(lab::coverage(0, 0).high, 1);
}

TEST(Conformal, TableOfRulesAddsUpToItsRules) {
  Planting planting;
  planting.rows = 300;
  const PlantedHead head = test::plant(lab::Law::power, 0.5, 300, planting);
  std::vector<double> w;
  for (std::size_t i = 0; i < head.n.size(); ++i)
    w.push_back(std::min(head.n[i], 3 * head.k_eps[i]));
  const std::vector<lab::Part> parts = lab::split_rows(head.n, 0, 1);
  const lab::RuleTable table = lab::compare_rules(head.n, head.k_eps, w, parts, 4, 0.1, 4);
  ASSERT_EQ(table.bins.size(), 4U);
  EXPECT_EQ(table.topk.C, 0);
  EXPECT_GT(table.power.C, 0.2);
  std::int64_t rows = 0;
  std::int64_t covered = 0;
  double keys = 0;
  double last = 0;
  for (const lab::LengthBin& bin : table.bins) {
    EXPECT_GT(bin.n_low, last);
    last = bin.n_high;
    rows += bin.rows;
    covered += bin.power.held_out.covered;
    keys += bin.power.mean_keys * static_cast<double>(bin.rows);
    EXPECT_EQ(bin.topk.mean_keys, std::ceil(table.topk.alpha));
  }
  EXPECT_EQ(rows, table.power.held_out.rows);
  EXPECT_EQ(covered, table.power.held_out.covered);
  EXPECT_NEAR(keys / static_cast<double>(rows), table.power.mean_keys, 1e-9 * keys);
}

TEST(Conformal, BinsDoNotDependOnTheSplit) {
  std::vector<double> n;
  for (int i = 0; i < 37; ++i) n.push_back(100 + 7 * i);
  const std::vector<double> k(n.size(), 5);
  const lab::RuleTable one = lab::compare_rules(n, k, k, lab::split_rows(n, 0, 1), 0, 0.1, 4);
  // Besides another random split, one with a single held-out row and one with none.
  std::vector<lab::Part> short_only(n.size(), lab::Part::calibration);
  short_only[0] = lab::Part::held_out;
  for (const std::vector<lab::Part>& parts :
       {lab::split_rows(n, 0, 2), short_only,
        std::vector<lab::Part>(n.size(), lab::Part::calibration)}) {
    const lab::RuleTable other = lab::compare_rules(n, k, k, parts, 0, 0.1, 4);
    ASSERT_EQ(other.bins.size(), one.bins.size());
    std::int64_t rows = 0;
    for (std::size_t b = 0; b < one.bins.size(); ++b) {
      EXPECT_EQ(other.bins[b].n_low, one.bins[b].n_low);
      EXPECT_EQ(other.bins[b].n_high, one.bins[b].n_high);
      EXPECT_EQ(std::isnan(other.bins[b].power.mean_keys), other.bins[b].rows == 0);
      rows += other.bins[b].rows;
    }
    EXPECT_EQ(rows, other.power.held_out.rows);
  }
}

TEST(Conformal, RowsOfOneLengthStayInOneBin) {
  const std::vector<double> n(60, 512);
  const std::vector<double> k(60, 5);
  const lab::RuleTable table = lab::compare_rules(n, k, k, lab::split_rows(n, 0, 1), 0, 0.1, 4);
  EXPECT_EQ(table.bins.size(), 1U);
  EXPECT_EQ(table.bins[0].rows, table.power.held_out.rows);
}

TEST(Conformal, RefusesWhatMakesNoSense) {
  const std::vector<double> n{10, 20};
  const std::vector<double> k{1, 2};
  const std::vector<double> too_many{11, 2};
  const std::vector<lab::Part> parts{lab::Part::calibration, lab::Part::held_out};
  EXPECT_THROW((void)lab::calibrate_power(n, k, parts, 0.5, 0), Error);
  EXPECT_THROW((void)lab::calibrate_power(n, k, parts, 0.5, 1), Error);
  EXPECT_THROW((void)lab::calibrate_power(n, k, parts, 1.5, 0.1), Error);
  EXPECT_THROW((void)lab::calibrate_power(n, too_many, parts, 0.5, 0.1), Error);
  EXPECT_THROW((void)lab::calibrate_power(n, {}, parts, 0.5, 0.1), Error);
  EXPECT_THROW((void)lab::calibrate_window(n, k, parts, -1, 0.1), Error);
  EXPECT_THROW((void)lab::split_rows(n, -1, 0), Error);
  EXPECT_THROW((void)lab::coverage(3, 2), Error);
  EXPECT_THROW((void)lab::compare_rules(n, k, k, parts, 0, 0.1, 0), Error);
}

}  // namespace
}  // namespace tamis
