// The fast draws against the paper's construction taken literally: the same probability of
// acceptance and the same law of the worst margin and of single entries, for every plan. All seeds
// are fixed; every test states how often a correct sampler would fail it by chance.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include <tamis/lab/generate.h>

#include "lab/numbers/random.h"
#include "lab/realise/jl/draw.h"
#include "support/lab/jl_literal.h"
#include "support/targets.h"

namespace tamis {
namespace {

struct Case {
  std::int64_t n;
  std::int64_t k;
  double gamma;
  double eps1;
  bool causal;
  std::int64_t m;
};

lab::Pattern pattern_of(const Case& c) {
  return c.causal ? lab::causal_pattern(c.n, c.k, c.gamma, 7)
                  : lab::permutations_pattern(c.n, c.k, c.gamma, 7);
}
lab::Conditions conditions_of(const Case& c) {
  return {.eps1 = c.eps1, .eps2 = 1, .causal = c.causal};
}

/// Plans for every way of drawing: lazy, sequential, the default, and one in between.
std::vector<lab::realisation::JlPlan> plans_of(const lab::realisation::JlTarget& target,
                                               std::int64_t m) {
  const std::int64_t rank = lab::realisation::working_rank(target.n, m);
  return {
      {rank, 0}, {0, rank}, lab::realisation::jl_plan(target, m), {rank / 3, 4}, {rank / 2, rank}};
}

/// Margins of the literal construction, each draw with random numbers of its own.
std::vector<double> literal_margins(const lab::realisation::JlTarget& target, std::int64_t m,
                                    int draws, std::vector<double>* first_entry = nullptr) {
  const BlasThreads one(1);
  const JlLiteral literal(target);
  JlLiteral::Space space;
  std::vector<double> margins;
  for (int i = 0; i < draws; ++i) {
    const lab::numbers::Stream stream(11, lab::numbers::Purpose::test,
                                      static_cast<std::uint64_t>(i));
    margins.push_back(literal.draw(
        m, [&](std::span<double> out) { stream.fill_normal(out); }, space));
    if (first_entry != nullptr)
      first_entry->push_back(space.logits[static_cast<std::size_t>(target.column[0])]);
  }
  return margins;
}

/// The Kolmogorov–Smirnov distance between two samples.
double distance(std::vector<double> a, std::vector<double> b) {
  std::sort(a.begin(), a.end());
  std::sort(b.begin(), b.end());
  double most = 0;
  std::size_t i = 0;
  std::size_t j = 0;
  while (i < a.size() && j < b.size()) {
    const double x = std::min(a[i], b[j]);
    while (i < a.size() && a[i] <= x) ++i;
    while (j < b.size() && b[j] <= x) ++j;
    most = std::max(most, std::abs(static_cast<double>(i) / static_cast<double>(a.size()) -
                                   static_cast<double>(j) / static_cast<double>(b.size())));
  }
  return most;
}
/// The distance that is exceeded with probability below `level`: 2·e^(−2·D²·ab/(a+b)).
double distance_quantile(double a, double b, double level) {
  return std::sqrt(std::log(2 / level) * (a + b) / (2 * a * b));
}

constexpr Case cases[] = {
    {32, 1, 1, 0.5, false, 21},  // more than half of n: the kernel is drawn
    {32, 1, 1, 0.9, false, 14},  // the range is drawn
    {48, 2, 2, 0.9, false, 28}, {48, 2, 2, 0.9, true, 24},  {64, 3, 1.5, 0.9, false, 44},
    {24, 1, 1, 0.1, true, 20},  {20, 2, 3, 0.5, false, 19},  // one dimension fewer than n
};

TEST(JlSampler, AcceptsAsOftenAsTheLiteralConstruction) {
  constexpr int literal_draws = 1500;
  constexpr int fast_draws = 6000;
  int comparisons = 0;
  for (const Case& c : cases) {
    const lab::realisation::JlTarget target =
        lab::realisation::jl_target(pattern_of(c), conditions_of(c));
    const auto margins = literal_margins(target, c.m, literal_draws);
    const auto literal = static_cast<double>(
        std::count_if(margins.begin(), margins.end(), [](double x) { return x > 0; }));
    // The comparison is meaningful only if both outcomes occur.
    EXPECT_GT(literal, 0.02 * literal_draws) << c.n << ' ' << c.k << ' ' << c.m;
    EXPECT_LT(literal, 0.98 * literal_draws) << c.n << ' ' << c.k << ' ' << c.m;
    for (const lab::realisation::JlPlan& plan : plans_of(target, c.m)) {
      lab::realisation::JlDraw draw(target);
      draw.prepare(c.m, plan);
      double fast = 0;
      for (int i = 0; i < fast_draws; ++i)
        fast += draw.draw(12, lab::numbers::Purpose::test, static_cast<std::uint64_t>(i)) ? 1 : 0;
      const double pooled = (literal + fast) / (literal_draws + fast_draws);
      const double deviation =
          std::sqrt(pooled * (1 - pooled) * (1.0 / literal_draws + 1.0 / fast_draws));
      // Two-sided at 10⁻³ over all 35 comparisons, so 10⁻³/35 each, which is
      // 4.19 standard deviations.
      EXPECT_LT(std::abs(literal / literal_draws - fast / fast_draws), 4.19 * deviation)
          << "n " << c.n << " k " << c.k << " m " << c.m << (c.causal ? " causal" : "") << " plan "
          << plan.columns << '+' << plan.rows << ": literal " << literal / literal_draws
          << ", fast " << fast / fast_draws;
      ++comparisons;
    }
  }
  EXPECT_EQ(comparisons, 35);
}

/// The target with conditions that every row satisfies, so that every draw is completed.
lab::realisation::JlTarget lenient(lab::realisation::JlTarget target) {
  target.log_eps1 = 1e6;
  target.eps2 = 1e6;
  return target;
}

void compare_laws(const lab::realisation::JlTarget& target, std::int64_t m, double level) {
  constexpr int draws = 600;
  std::vector<double> literal_entries;
  const auto literal = literal_margins(target, m, draws, &literal_entries);
  const double most = distance_quantile(draws, draws, level);
  const lab::realisation::JlTarget open = lenient(target);
  for (const lab::realisation::JlPlan& plan : plans_of(target, m)) {
    lab::realisation::JlDraw draw(open);
    draw.prepare(m, plan);
    std::vector<double> margins;
    std::vector<double> entries;
    for (int i = 0; i < draws; ++i) {
      ASSERT_TRUE(draw.draw(13, lab::numbers::Purpose::test, static_cast<std::uint64_t>(i)));
      const lab::realisation::Projection projection = draw.projection();
      margins.push_back(lab::realisation::projection_margin(target, projection, 1));
      const auto basis = lab::realisation::range_basis(projection, 1);
      double entry = 0;
      for (std::int64_t e = target.start[0]; e < target.start[1]; ++e)
        for (std::int64_t c = 0; c < m; ++c)
          entry += target.b[e] * basis[target.column[e] * m + c] * basis[target.column[0] * m + c];
      entries.push_back(entry * static_cast<double>(target.n) / static_cast<double>(m));
    }
    EXPECT_LT(distance(literal, margins), most)
        << "margin, plan " << plan.columns << '+' << plan.rows;
    EXPECT_LT(distance(literal_entries, entries), most)
        << "entry, plan " << plan.columns << '+' << plan.rows;
  }
}

// Ten comparisons per test: a correct sampler fails one of these four tests with
// probability below 4·10⁻³.
TEST(JlSampler, WorstMarginsAndEntriesHaveTheLiteralLaw) {
  const Case c{40, 2, 2, 0.5, false, 13};
  compare_laws(lab::realisation::jl_target(pattern_of(c), conditions_of(c)), c.m, 1e-4);
}
TEST(JlSampler, TheirLawIsLiteralWhereTheKernelIsDrawn) {
  const Case c{40, 2, 2, 0.5, true, 33};
  compare_laws(lab::realisation::jl_target(pattern_of(c), conditions_of(c)), c.m, 1e-4);
}
TEST(JlSampler, TheirLawIsLiteralWhereRowsLieInTheSpanOfOthers) {
  compare_laws(
      lab::realisation::jl_target(lab::block_pattern(24, 6, false), {.eps1 = 0.5, .eps2 = 1}), 12,
      1e-4);
}
TEST(JlSampler, TheirLawIsLiteralForOneDimension) {
  const Case c{8, 1, 1, 0.5, false, 1};
  compare_laws(lab::realisation::jl_target(pattern_of(c), conditions_of(c)), c.m, 1e-4);
}

TEST(JlSampler, EveryTargetAcceptsTheSameDraws) {
  // Targets round differently, so draws may differ whose slack is within 10⁻⁵ of zero; there
  // are none here.
  const Case c{48, 2, 2, 0.9, false, 28};
  const lab::realisation::JlTarget target =
      lab::realisation::jl_target(pattern_of(c), conditions_of(c));
  std::vector<std::vector<bool>> accepted;
  test::for_each_target([&](const char*) {
    accepted.emplace_back();
    for (const lab::realisation::JlPlan& plan : plans_of(target, c.m)) {
      lab::realisation::JlDraw draw(target);
      draw.prepare(c.m, plan);
      for (std::uint64_t i = 0; i < 40; ++i)
        accepted.back().push_back(draw.draw(14, lab::numbers::Purpose::test, i));
    }
  });
  for (const auto& one : accepted) EXPECT_EQ(one, accepted.front());
}

TEST(JlSampler, PlansStayWithinWhatADrawCanDo) {
  for (const Case& c : cases) {
    const lab::realisation::JlTarget target =
        lab::realisation::jl_target(pattern_of(c), conditions_of(c));
    double before = 1;
    for (std::int64_t m = 1; m <= c.n; ++m) {
      const lab::realisation::JlPlan plan = lab::realisation::jl_plan(target, m);
      EXPECT_LE(plan.columns, lab::realisation::working_rank(c.n, m));
      EXPECT_LE(plan.rows, lab::realisation::most_rows(c.n, m, plan.columns));
      const double fails = lab::realisation::row_failure(target, m);
      EXPECT_LE(fails, before) << m;  // more dimensions never make a row worse
      before = fails;
    }
    EXPECT_EQ(before, 0);
  }
}

/// Settings where draws are accepted now and then: only few rows are in doubt, and these decide as
/// all rows would.
TEST(JlSampler, RowsInDoubtDecideForAll) {
  struct Setting {
    std::int64_t k;
    std::int64_t m;
  };
  for (const auto& [k, m] :
       {Setting{1, 44}, {2, 76}}) {  // first vectors of the range, then of the kernel
    const lab::realisation::JlTarget target = lab::realisation::jl_target(
        lab::permutations_pattern(96, k, 1, 3), {.eps1 = 0.5, .eps2 = 1});
    int held = 0;
    int with_doubt = 0;
    lab::realisation::JlDraw draw(target);
    draw.prepare(m, lab::realisation::jl_plan(target, m));
    for (std::uint64_t i = 0; i < 2000; ++i) {
      if (!draw.draw(1, lab::numbers::Purpose::test, i)) continue;
      ++held;
      const lab::realisation::Projection projection = draw.projection();
      ASSERT_EQ(projection.complement, m > 48);
      const double all = lab::realisation::projection_margin(target, projection, 1);
      const double some =
          lab::realisation::projection_margin(target, projection, draw.in_doubt(), 1);
      EXPECT_EQ(draw.in_doubt().empty(), std::isinf(some));
      EXPECT_EQ(some > 0, all > 0);
      EXPECT_GE(some, all);
      EXPECT_NEAR(draw.slack(), all, 1e-3);
      if (!draw.in_doubt().empty()) {
        ++with_doubt;
        EXPECT_EQ(some, all);  // the worst row is among them
        EXPECT_LT(draw.in_doubt().size(), 20U);
      }
    }
    EXPECT_GT(held, 20);
    EXPECT_GT(with_doubt, 0);
  }
}

TEST(JlSampler, AllDimensionsGiveBItself) {
  for (const std::int64_t n : {1, 2, 5, 70}) {
    const lab::realisation::JlTarget target = lab::realisation::jl_target(
        lab::permutations_pattern(n, 1, 1, 3), {.eps1 = 0.5, .eps2 = 1});
    lab::realisation::JlDraw draw(target);
    draw.prepare(n, lab::realisation::jl_plan(target, n));
    EXPECT_TRUE(draw.draw(1, lab::numbers::Purpose::test, 0)) << n;
    // With all dimensions the logits are B: log 2 + 1 on the support, 0 elsewhere.
    const double margin = lab::realisation::projection_margin(target, draw.projection(), 1);
    if (n == 1)
      EXPECT_TRUE(std::isinf(margin));
    else
      EXPECT_NEAR(margin, 1, 1e-12) << n;
  }
}

TEST(JlSampler, RangesOfProjectionsAreOrthonormalOnBothSides) {
  const lab::realisation::JlTarget target = lenient(lab::realisation::jl_target(
      lab::permutations_pattern(50, 2, 2, 3), {.eps1 = 0.5, .eps2 = 1}));
  for (const std::int64_t m : {1, 20, 25, 26, 41, 49, 50}) {
    lab::realisation::JlDraw draw(target);
    draw.prepare(m, {lab::realisation::working_rank(50, m) / 2, 3});
    ASSERT_TRUE(draw.draw(1, lab::numbers::Purpose::test, 5));
    const lab::realisation::Projection projection = draw.projection();
    const auto basis = lab::realisation::range_basis(projection, 2);
    for (std::int64_t a = 0; a < m; ++a)
      for (std::int64_t b = 0; b <= a; ++b) {
        double dot = 0;
        for (std::int64_t i = 0; i < 50; ++i) dot += basis[i * m + a] * basis[i * m + b];
        EXPECT_NEAR(dot, a == b ? 1 : 0, 1e-12) << m;
      }
    if (projection.complement)  // vectors of the kernel are orthogonal to the range
      for (std::int64_t c = 0; c < 50 - m; ++c)
        for (std::int64_t a = 0; a < m; ++a) {
          double dot = 0;
          for (std::int64_t i = 0; i < 50; ++i)
            dot += basis[i * m + a] *
                   static_cast<double>(projection.vectors[c * projection.stride + i]);
          EXPECT_NEAR(dot, 0, 1e-10) << m;
        }
  }
}

}  // namespace
}  // namespace tamis
