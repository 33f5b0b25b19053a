// The loss from dropping keys, against plain loops; rules of equal cost; means over units.
#include "lab/experiments/loss.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <set>

#include "lab/experiments/rules.h"
#include "lab/numbers/random.h"
#include "lab/stats/estimate.h"

namespace tamis {
namespace {

struct Row {
  std::vector<double> logits;
  std::vector<float> values;
  std::int64_t dim = 0;
};

Row random_row(std::int64_t n, std::int64_t dim, double spread, std::uint64_t seed) {
  Row row{{}, {}, dim};
  const lab::numbers::Stream logits(seed, lab::numbers::Purpose::test, 0);
  const lab::numbers::Stream values(seed, lab::numbers::Purpose::test, 1);
  for (std::int64_t j = 0; j < n; ++j)
    row.logits.push_back(spread * logits.normal(static_cast<std::uint32_t>(j)));
  for (std::int64_t j = 0; j < n * dim; ++j)
    row.values.push_back(static_cast<float>(values.normal(static_cast<std::uint32_t>(j))));
  return row;
}

struct Plain {
  lab::experiments::Loss loss;
  double condition = 0;  ///< largest ‖v‖ divided by ‖o‖: how much the output cancels
};

/// The definition: softmax over all keys and over the kept ones, one key at a time.
Plain plainly(const Row& row, const std::set<std::int64_t>& kept) {
  const auto output = [&](auto counts, double& mass) {
    std::vector<long double> out(static_cast<std::size_t>(row.dim), 0);
    long double total = 0;
    for (std::size_t j = 0; j < row.logits.size(); ++j) {
      if (!counts(static_cast<std::int64_t>(j))) continue;
      const long double w = std::exp(static_cast<long double>(row.logits[j]));
      total += w;
      for (std::size_t c = 0; c < out.size(); ++c) out[c] += w * row.values[j * out.size() + c];
    }
    for (auto& x : out) x /= total;
    mass = static_cast<double>(total);
    return out;
  };
  double all_mass = 0;
  double kept_mass = 0;
  const auto exact = output([](std::int64_t) { return true; }, all_mass);
  const auto other = output([&](std::int64_t j) { return kept.contains(j); }, kept_mass);
  long double difference = 0;
  long double size = 0;
  for (std::size_t c = 0; c < exact.size(); ++c) {
    difference += (exact[c] - other[c]) * (exact[c] - other[c]);
    size += exact[c] * exact[c];
  }
  lab::experiments::Loss loss{1 - kept_mass / all_mass,
                              static_cast<double>(std::sqrt(difference / size)), 0};
  for (std::size_t j = 0; j < row.logits.size(); ++j)
    if (!kept.contains(static_cast<std::int64_t>(j)))
      loss.largest = std::max(loss.largest, std::exp(row.logits[j]) / all_mass);
  double longest = 0;
  for (std::size_t j = 0; j < row.logits.size(); ++j) {
    double squares = 0;
    for (std::size_t c = 0; c < exact.size(); ++c)
      squares += std::pow(row.values[j * exact.size() + c], 2);
    longest = std::max(longest, std::sqrt(squares));
  }
  return {loss, longest / static_cast<double>(std::sqrt(size))};
}

void expect_near(const lab::experiments::Loss& found, const Plain& by_definition, std::size_t n) {
  const lab::experiments::Loss& plain = by_definition.loss;
  // Sums of n terms and about a dozen other operations, exp among them. An output is a mean of
  // values, so its rounding is relative to the longest of them.
  const double unit = static_cast<double>(n + 64) * 0x1p-52;
  RC_ASSERT(std::abs(found.tau - plain.tau) <= unit);
  RC_ASSERT(std::abs(found.largest - plain.largest) <= unit);
  RC_ASSERT(std::abs(found.error - plain.error) <=
            unit * by_definition.condition * (2 + plain.error));
}

RC_GTEST_PROP(Dropped, IsThatOfPlainLoopsForHeaviestKeysAndForWindows, ()) {
  const auto n = *rc::gen::inRange<std::int64_t>(1, 60);
  const auto sinks = *rc::gen::inRange<std::int64_t>(0, 5);
  const double spread = *rc::gen::element(0.0, 1.0, 5.0);
  const Row row = random_row(n, 3, spread, *rc::gen::arbitrary<std::uint32_t>());
  const auto kept =
      *rc::gen::container<std::vector<std::int64_t>>(4, rc::gen::inRange<std::int64_t>(1, n + 1));
  const auto heaviest = lab::experiments::heaviest_first(row.logits);
  for (std::size_t i = 1; i < heaviest.size(); ++i)
    RC_ASSERT(row.logits[static_cast<std::size_t>(heaviest[i - 1])] >=
              row.logits[static_cast<std::size_t>(heaviest[i])]);
  const auto by_weight = lab::experiments::losses_of(row.logits, row.values, 3, heaviest, kept);
  const auto by_place = lab::experiments::losses_of(row.logits, row.values, 3,
                                                    lab::experiments::latest_first(n, sinks), kept);
  for (std::size_t i = 0; i < kept.size(); ++i) {
    const auto first = heaviest.begin();
    expect_near(by_weight[i], plainly(row, {first, first + kept[i]}), row.logits.size());
    std::set<std::int64_t> window;
    for (std::int64_t j = 0; j < std::min(sinks, kept[i]); ++j) window.insert(j);
    for (std::int64_t j = n - 1; static_cast<std::int64_t>(window.size()) < kept[i]; --j)
      window.insert(j);
    expect_near(by_place[i], plainly(row, window), row.logits.size());
    RC_ASSERT(by_weight[i].largest * static_cast<double>(kept[i]) < 1);
    RC_ASSERT(by_weight[i].tau <= by_place[i].tau + 1e-12);
  }
}

TEST(Dropped, NothingIsLostByKeepingEverything) {
  const Row row = random_row(9, 2, 3, 1);
  for (const std::int64_t k : {9, 10, 1000}) {
    const lab::experiments::Loss loss =
        lab::experiments::losses_of(row.logits, row.values, 2, lab::experiments::latest_first(9, 2),
                                    std::vector{k})
            .front();
    EXPECT_EQ(loss.tau, 0);
    EXPECT_EQ(loss.error, 0);
    EXPECT_EQ(loss.largest, 0);
  }
}

TEST(Dropped, AWindowFarBelowTheHeaviestKeyStillHasAnOutput) {
  // The kept key's weight, e^−2000 times the other's, underflows, so everything is lost.
  const std::vector<double> logits{2000, 0};
  const std::vector<float> values{1, 2};
  const lab::experiments::Loss loss =
      lab::experiments::losses_of(logits, values, 1, lab::experiments::latest_first(2, 0),
                                  std::vector<std::int64_t>{1})
          .front();
  EXPECT_EQ(loss.tau, 1);
  EXPECT_EQ(loss.error, 1);
  EXPECT_EQ(loss.largest, 1);
}

TEST(Dropped, AnExactOutputOfZeroIsComparedWithTheOther) {
  const std::vector<double> logits{0, 0};
  const std::vector<float> values{1, -1};
  const lab::experiments::Loss loss =
      lab::experiments::losses_of(logits, values, 1, lab::experiments::heaviest_first(logits),
                                  std::vector<std::int64_t>{1})
          .front();
  EXPECT_EQ(loss.tau, 0.5);
  EXPECT_EQ(loss.error, 1);
  const std::vector<float> none{0, 0};
  EXPECT_EQ(lab::experiments::losses_of(logits, none, 1, lab::experiments::heaviest_first(logits),
                                        std::vector<std::int64_t>{1})
                .front()
                .error,
            0);
}

TEST(Rules, ReadWhatTheirNameSaysAndNeverMoreThanThereIs) {
  EXPECT_EQ((lab::experiments::Rule{lab::experiments::Which::heaviest, 2, 0.5}).keys(1024), 64);
  EXPECT_EQ((lab::experiments::Rule{lab::experiments::Which::heaviest, 2, 0.5}).keys(1025), 65);
  EXPECT_EQ((lab::experiments::Rule{lab::experiments::Which::heaviest, 64}).keys(10), 10);
  EXPECT_EQ((lab::experiments::Rule{lab::experiments::Which::heaviest, 0.001, 0.5}).keys(10), 1);
  EXPECT_EQ((lab::experiments::Rule{lab::experiments::Which::heaviest, 8, 0, true}).keys(1), 1);
  EXPECT_EQ((lab::experiments::Rule{lab::experiments::Which::heaviest, 8, 0, true}).keys(1000), 56);
  EXPECT_EQ((lab::experiments::Rule{lab::experiments::Which::heaviest, 1e300, 1}).keys(1000), 1000);
}

RC_GTEST_PROP(Rules, OfEqualCostReadNoMoreThanAllowedAndAlmostAsMuch, ()) {
  const auto lengths = *rc::gen::nonEmpty(
      rc::gen::container<std::set<std::int64_t>>(rc::gen::inRange<std::int64_t>(1, 5000)));
  const std::vector<std::int64_t> n(lengths.begin(), lengths.end());
  const auto count = static_cast<std::int64_t>(n.size());
  const std::int64_t total = count * *rc::gen::inRange<std::int64_t>(1, 300);
  lab::experiments::Rule rule{lab::experiments::Which::heaviest, 1,
                              *rc::gen::element(0.0, 0.3, 0.5, 1.0)};
  rule.alpha = lab::experiments::alpha_within(rule, n, total);
  const std::int64_t cost = lab::experiments::cost_of(rule, n);
  RC_ASSERT(cost <= total);
  RC_ASSERT(cost == std::accumulate(n.begin(), n.end(), std::int64_t{0}) || cost > total - count);
}

TEST(Estimates, OfMeansHaveStudentsInterval) {
  // t with 4 degrees of freedom at 97.5 %: 2.776445.
  const lab::stats::Estimate mean = lab::stats::mean_estimate(std::vector<double>{1, 2, 3, 4, 5});
  EXPECT_EQ(mean.value, 3);
  EXPECT_NEAR(mean.high, 3 + 2.7764451051977987 * std::sqrt(0.5), 1e-8);
  EXPECT_NEAR(mean.low, 6 - mean.high, 1e-12);
  EXPECT_TRUE(mean.above(1));
  EXPECT_FALSE(mean.above(2));
  const lab::stats::Estimate lonely = lab::stats::mean_estimate(std::vector<double>{1});
  EXPECT_FALSE(lonely.above(0));
  EXPECT_FALSE(lonely.below(2));
  EXPECT_EQ(lonely.text(), "1");
}

}  // namespace
}  // namespace tamis
