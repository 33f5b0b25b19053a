// Synthetic heads: their laws, what each dial preserves and destroys, and that they depend only
// on a seed.
#include "lab/experiments/synthetic_heads.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include <tamis/error.h>

namespace tamis {
namespace {

lab::experiments::Synthetic small(std::int64_t n, std::int64_t queries = 1) {
  lab::experiments::Synthetic s;
  s.n = n;
  s.queries = queries;
  s.d = 8;
  s.value_dim = 3;
  s.seed = 5;
  return s;
}

/// Entry c of the key of every token.
std::vector<double> entries(const lab::experiments::SyntheticHead& head, std::int64_t c) {
  std::vector<double> column;
  for (std::size_t t = 0; t < head.k.size() / static_cast<std::size_t>(head.shape.head_dim); ++t)
    column.push_back(
        head.k[t * static_cast<std::size_t>(head.shape.head_dim) + static_cast<std::size_t>(c)]);
  return column;
}

std::vector<float> key(const lab::experiments::SyntheticHead& head, std::int64_t t) {
  const auto d = static_cast<std::ptrdiff_t>(head.shape.head_dim);
  return {head.k.begin() + t * d, head.k.begin() + (t + 1) * d};
}

/// Tests that independent draws follow the law `cdf`, by the Dvoretzky–Kiefer–Wolfowitz bound at
/// one in a million.
void expect_law(std::vector<double> draws, double (*cdf)(double)) {
  std::sort(draws.begin(), draws.end());
  const auto count = static_cast<double>(draws.size());
  double apart = 0;
  for (std::size_t i = 0; i < draws.size(); ++i) {
    const double at = cdf(draws[i]);
    apart = std::max({apart, std::abs(at - static_cast<double>(i) / count),
                      std::abs(at - static_cast<double>(i + 1) / count)});
  }
  EXPECT_LT(apart, std::sqrt(std::log(2e6) / (2 * count)));
}

double uniform_cdf(double x) { return 0.5 * (x + 1); }

/// The distribution function of a symmetric law with P(|x|·√3 > y) = (1 + y)^−3.
double pareto_cdf(double x) {
  const double tail = 0.5 * std::pow(1 + std::sqrt(3.0) * std::abs(x), -3);
  return x < 0 ? tail : 1 - tail;
}

TEST(Synthetic, EntriesOfKeysAndValuesAreUniformWithinOne) {
  const lab::experiments::SyntheticHead head = lab::experiments::synthetic_head(small(5000));
  for (const std::int64_t c : {0, 3, 7}) expect_law(entries(head, c), uniform_cdf);
  std::vector<double> values(head.v.begin(), head.v.end());
  expect_law(values, uniform_cdf);
  for (const double x : entries(head, 8)) EXPECT_EQ(x, 0);  // no sink
}

TEST(Synthetic, LogitsHaveDeviationAThirdOfR) {
  lab::experiments::Synthetic s = small(2, 4000);
  s.d = 64;
  s.R = 7;
  const lab::experiments::SyntheticHead head = lab::experiments::synthetic_head(s);
  // E|q|² = ‖W‖²/3, and queries have relative variance 2.8/d. A key's entries have variance 1/3.
  double squares = 0;
  for (std::int64_t i = 0; i < s.queries; ++i)
    for (std::int64_t c = 0; c < s.d; ++c)
      squares += std::pow(head.q[static_cast<std::size_t>(i * 65 + c)], 2);
  const double variance = squares / static_cast<double>(s.queries) / 3;
  const double error = std::sqrt(2.8 / 64 / 4000);
  EXPECT_NEAR(variance / (7.0 * 7.0 / 9), 1, 5 * error);
}

TEST(Synthetic, TheScoreOfAllInputsIsBoundedByRTimesTheirNorms) {
  lab::experiments::Synthetic s = small(200, 50);
  s.R = 4;
  const lab::experiments::SyntheticHead head = lab::experiments::synthetic_head(s);
  // |xᵀWy| ≤ ‖W‖_F·|x|·|y| ≤ R·d, the theory's bound for B = 1.
  for (std::int64_t i = 0; i < s.queries; ++i)
    for (std::int64_t t = 0; t < s.n; ++t) {
      double logit = 0;
      for (std::int64_t c = 0; c < 9; ++c)
        logit += static_cast<double>(head.q[static_cast<std::size_t>(i * 9 + c)]) *
                 static_cast<double>(head.k[static_cast<std::size_t>(t * 9 + c)]);
      ASSERT_LE(std::abs(logit), s.R * static_cast<double>(s.d));
    }
}

TEST(Synthetic, CopiesRepeatTheTokenBeforeAsOftenAsTheDialSays) {
  lab::experiments::Synthetic s = small(4000);
  s.copies = 0.3;
  const lab::experiments::SyntheticHead head = lab::experiments::synthetic_head(s);
  std::vector<double> fresh{head.k[0]};
  for (std::int64_t t = 1; t < s.n; ++t)
    if (key(head, t) != key(head, t - 1)) fresh.push_back(head.k[static_cast<std::size_t>(t * 9)]);
  const double copied = static_cast<double>(s.n - 1) - static_cast<double>(fresh.size() - 1);
  EXPECT_NEAR(copied / 3999, 0.3, 5 * std::sqrt(0.21 / 3999));
  expect_law(fresh, uniform_cdf);
  s.copies = 1;
  const lab::experiments::SyntheticHead one = lab::experiments::synthetic_head(s);
  for (std::int64_t t = 1; t < s.n; ++t) ASSERT_EQ(key(one, t), key(one, 0));
}

TEST(Synthetic, CommonEntriesKeepTheirMarginalsAndLoseTheirIndependence) {
  lab::experiments::Synthetic s = small(5000);
  s.common = 0.5;
  const lab::experiments::SyntheticHead head = lab::experiments::synthetic_head(s);
  const std::vector<double> first = entries(head, 0);
  const std::vector<double> third = entries(head, 3);
  expect_law(third, uniform_cdf);
  double equal = 0;
  for (std::size_t t = 0; t < first.size(); ++t) equal += first[t] == third[t] ? 1 : 0;
  EXPECT_NEAR(equal / 5000, 0.5, 5 * std::sqrt(0.25 / 5000));
  s.common = 1;
  const lab::experiments::SyntheticHead one = lab::experiments::synthetic_head(s);
  for (std::int64_t c = 1; c < 8; ++c) ASSERT_EQ(entries(one, c), entries(one, 0));
}

TEST(Synthetic, TailsGoFromUniformToIndexThreeAtOneVariance) {
  lab::experiments::Synthetic s = small(5000);
  const std::vector<double> uniform = entries(lab::experiments::synthetic_head(s), 2);
  s.tails = 1;
  expect_law(entries(lab::experiments::synthetic_head(s), 2), pareto_cdf);
  s.tails = 0.4;
  const std::vector<double> mixed = entries(lab::experiments::synthetic_head(s), 2);
  const auto mix = [](double u) {
    return 0.6 * u + 0.4 * std::copysign(std::pow(1 - std::abs(u), -1.0 / 3) - 1, u);
  };
  // The variance by the midpoint rule in v with 1 − |u| = v³, which removes the singularity.
  double variance = 0;
  constexpr int steps = 100000;
  for (int i = 0; i < steps; ++i) {
    const double v = (i + 0.5) / steps;
    variance += std::pow(mix(1 - v * v * v), 2) * 3 * v * v / steps;
  }
  for (std::size_t t = 0; t < mixed.size(); ++t) {
    // u is accurate to 2^−24, which matters most for 1 − |u|.
    const double slope = 0.6 + 0.4 / 3 * std::pow(1 - std::abs(uniform[t]), -4.0 / 3);
    if (1 - std::abs(uniform[t]) < 1e-3) continue;
    EXPECT_NEAR(mixed[t] * std::sqrt(3 * variance), mix(uniform[t]),
                0x1p-22 * (slope + std::abs(mixed[t])));
  }
}

TEST(Synthetic, ASinkRaisesTheFirstLogitForEveryQueryAndHasNoValue) {
  lab::experiments::Synthetic s = small(100, 4);
  const lab::experiments::SyntheticHead plain = lab::experiments::synthetic_head(s);
  s.sinks = 0.25;
  const lab::experiments::SyntheticHead head = lab::experiments::synthetic_head(s);
  EXPECT_FLOAT_EQ(head.k[8], static_cast<float>(0.5 * std::log(100.0)));
  for (std::int64_t i = 0; i < 4; ++i) EXPECT_EQ(head.q[static_cast<std::size_t>(i * 9 + 8)], 1);
  for (std::int64_t t = 1; t < 100; ++t) ASSERT_EQ(key(head, t), key(plain, t));
  for (std::size_t c = 0; c < 8; ++c) EXPECT_EQ(head.k[c], plain.k[c]);
  for (std::size_t c = 0; c < 3; ++c) {
    EXPECT_EQ(head.v[c], 0);
    EXPECT_NE(plain.v[c], 0);
  }
}

TEST(Synthetic, AShorterHeadIsTheBeginningOfALongerOne) {
  for (const double dial : {0.0, 0.5}) {
    lab::experiments::Synthetic s = small(300, 5);
    s.copies = s.common = s.tails = dial;
    const lab::experiments::SyntheticHead all = lab::experiments::synthetic_head(s);
    s.n = 100;
    const lab::experiments::SyntheticHead some = lab::experiments::synthetic_head(s);
    EXPECT_EQ(some.q, all.q);
    EXPECT_TRUE(std::equal(some.k.begin(), some.k.end(), all.k.begin()));
    EXPECT_TRUE(std::equal(some.v.begin(), some.v.end(), all.v.begin()));
  }
}

TEST(Synthetic, IsAFunctionOfItsSeed) {
  lab::experiments::Synthetic s = small(50, 3);
  const lab::experiments::SyntheticHead a = lab::experiments::synthetic_head(s);
  const lab::experiments::SyntheticHead again = lab::experiments::synthetic_head(s);
  EXPECT_EQ(a.q, again.q);
  EXPECT_EQ(a.k, again.k);
  EXPECT_EQ(a.v, again.v);
  s.seed = 6;
  const lab::experiments::SyntheticHead other = lab::experiments::synthetic_head(s);
  EXPECT_NE(a.q, other.q);
  EXPECT_NE(a.k, other.k);
  EXPECT_NE(a.v, other.v);
}

TEST(Synthetic, NumbersOutOfRangeAreRefused) {
  const auto refused = [](auto&& change) {
    lab::experiments::Synthetic s = small(10);
    change(s);
    EXPECT_THROW((void)lab::experiments::synthetic_head(s), Error);
  };
  refused([](lab::experiments::Synthetic& s) { s.n = 0; });
  refused([](lab::experiments::Synthetic& s) { s.queries = 0; });
  refused([](lab::experiments::Synthetic& s) { s.d = largest_dim; });
  refused([](lab::experiments::Synthetic& s) { s.value_dim = 0; });
  refused([](lab::experiments::Synthetic& s) { s.R = -1; });
  refused([](lab::experiments::Synthetic& s) { s.R = std::nan(""); });
  refused([](lab::experiments::Synthetic& s) { s.copies = 1.01; });
  refused([](lab::experiments::Synthetic& s) { s.sinks = -0.1; });
}

}  // namespace
}  // namespace tamis
