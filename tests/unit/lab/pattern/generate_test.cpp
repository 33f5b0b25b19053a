// Generators of patterns: their promises at every size, and the arguments that they refuse.
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <set>

#include <tamis/lab/generate.h>
#include "lab/pattern/checks.h"
#include "support/io_files.h"

namespace tamis::test {
namespace {

std::uint64_t any_seed() {
  return *rc::gen::resize(rc::kNominalSize, rc::gen::arbitrary<std::uint64_t>());
}

bool has(const lab::Pattern& pattern, std::int64_t row, std::int64_t column) {
  return std::ranges::binary_search(pattern.columns_of(row), column);
}

RC_GTEST_PROP(Generate, PermutationsHaveAtMostKPerRowAndColumn, ()) {
  const auto n = *rc::gen::inRange<std::int64_t>(1, 60);
  const auto k = *rc::gen::inRange<std::int64_t>(1, std::min<std::int64_t>(n, 5) + 1);
  const std::uint64_t seed = any_seed();
  const lab::Pattern pattern = lab::permutations_pattern(n, k, 2.5, seed);
  lab::pattern::check_pattern(pattern);
  const lab::PatternFigures figures = lab::figures_of(pattern);
  RC_ASSERT(pattern.rows == n && pattern.cols == n);
  RC_ASSERT(figures.most_per_row <= k && figures.most_per_column <= k);
  RC_ASSERT(k > 1 || pattern.nonzeros() == n);
  RC_ASSERT(std::ranges::all_of(pattern.value, [](double x) { return x == 1 || x == 2.5; }));
  const lab::Pattern again = lab::permutations_pattern(n, k, 2.5, seed);
  RC_ASSERT(again.column == pattern.column && again.value == pattern.value);
}

TEST(Generate, PermutationsAndCoinsAreFair) {
  // 6000 permutations of 3 elements, where each of the 6 has probability 1/6. A count is
  // within 5 standard deviations, √(6000·5/36) = 28.9 each, except once in 290,000 runs; the
  // seeds are fixed.
  std::map<std::vector<std::int64_t>, int> count;
  int gammas = 0;
  for (std::uint64_t seed = 0; seed < 6000; ++seed) {
    const lab::Pattern pattern = lab::permutations_pattern(3, 1, 2, seed);
    ++count[pattern.column];
    gammas += static_cast<int>(std::ranges::count(pattern.value, 2.0));
  }
  EXPECT_EQ(count.size(), 6U);
  for (const auto& [order, times] : count) EXPECT_NEAR(times, 1000, 5 * 28.9);
  EXPECT_NEAR(gammas, 9000, 5 * std::sqrt(18000 / 4.0));
}

RC_GTEST_PROP(Generate, CausalRowsHaveKDistinctEarlierColumns, ()) {
  const auto n = *rc::gen::inRange<std::int64_t>(1, 60);
  const auto k = *rc::gen::inRange<std::int64_t>(1, n + 1);
  const lab::Pattern pattern = lab::causal_pattern(n, k, 1, any_seed());
  lab::pattern::check_pattern(pattern);
  RC_ASSERT(lab::figures_of(pattern).causal);
  for (std::int64_t i = 0; i < n; ++i)
    RC_ASSERT(std::ssize(pattern.columns_of(i)) == std::min(k, i + 1));
}

TEST(Generate, CausalSubsetsAreFair) {
  // Row 3 of 4 with k = 2 has six possible subsets.
  std::map<std::vector<std::int64_t>, int> count;
  for (std::uint64_t seed = 0; seed < 6000; ++seed) {
    const lab::Pattern pattern = lab::causal_pattern(4, 2, 1, seed);
    const auto columns = pattern.columns_of(3);
    ++count[{columns.begin(), columns.end()}];
  }
  EXPECT_EQ(count.size(), 6U);
  for (const auto& [subset, times] : count) EXPECT_NEAR(times, 1000, 5 * 28.9);
}

RC_GTEST_PROP(Generate, BandsAndBlocksAreWhatTheySay, ()) {
  const auto n = *rc::gen::inRange<std::int64_t>(1, 30);
  const auto size = *rc::gen::inRange<std::int64_t>(0, 35);
  const bool causal = *rc::gen::arbitrary<bool>();
  const lab::Pattern band = lab::banded_pattern(n, size, causal);
  const lab::Pattern block = lab::block_pattern(n, size + 1, causal);
  lab::pattern::check_pattern(band);
  lab::pattern::check_pattern(block);
  for (std::int64_t i = 0; i < n; ++i)
    for (std::int64_t j = 0; j < n; ++j) {
      RC_ASSERT(has(band, i, j) == (std::abs(i - j) <= size && (!causal || j <= i)));
      RC_ASSERT(has(block, i, j) == (i / (size + 1) == j / (size + 1) && (!causal || j <= i)));
    }
}

TEST(Generate, PairsComeInOrderOnceEach) {
  for (const std::int64_t n : {2, 3, 17}) {
    const lab::Pattern pattern = lab::pairs_pattern(n);
    lab::pattern::check_pattern(pattern);
    EXPECT_EQ(pattern.rows, n * (n - 1) / 2);
    EXPECT_EQ(pattern.cols, n);
    std::vector<std::vector<std::int64_t>> pairs;
    for (std::int64_t row = 0; row < pattern.rows; ++row)
      pairs.emplace_back(pattern.columns_of(row).begin(), pattern.columns_of(row).end());
    EXPECT_TRUE(std::ranges::is_sorted(pairs));
    EXPECT_EQ(std::set(pairs.begin(), pairs.end()).size(), pairs.size());
    EXPECT_TRUE(std::ranges::all_of(pairs, [](const auto& pair) { return pair.size() == 2; }));
    EXPECT_EQ(lab::figures_of(pattern).most_per_column, n - 1);
  }
}

TEST(Generate, FiguresOfAPatternWiderThanItsNonzeros) {
  lab::Pattern pattern;
  pattern.rows = 2;
  pattern.cols = std::int64_t{1} << 62;  // too many columns for a counter each
  pattern.row_start = {0, 2, 3};
  pattern.column = {5, std::int64_t{1} << 61, 5};
  pattern.value = {1, 8, 3};
  const lab::PatternFigures figures = lab::figures_of(pattern);
  EXPECT_EQ(figures.most_per_row, 2);
  EXPECT_EQ(figures.most_per_column, 2);
  EXPECT_EQ(figures.gamma, 8);
  EXPECT_FALSE(figures.causal);
}

lab::Trace small_trace() {
  return lab::Trace(std::string(TAMIS_DATA_DIR) + "/smollm2-kjv-8k-small.safetensors");
}

TEST(Generate, TopKeysAreTheHeaviestOfTheirRows) {
  const lab::Trace trace = small_trace();
  const lab::TraceLayer& layer = trace.layers().front();
  const Shape& shape = layer.shape;
  const std::int64_t head = shape.query_heads - 1;
  const lab::Pattern pattern = lab::top_keys_pattern(trace, layer.layer, head, 4);
  const lab::Pattern all = lab::top_keys_pattern(trace, layer.layer, head, trace.tokens());
  lab::pattern::check_pattern(pattern);
  EXPECT_EQ(pattern.rows, shape.queries);
  EXPECT_EQ(pattern.cols, trace.tokens());
  const lab::LayerData data = trace.read(layer);
  const std::vector<double> keys = data.k.to_f64();
  for (std::int64_t row = 0; row < pattern.rows; ++row) {
    const std::int64_t seen = trace.seen()[static_cast<std::size_t>(row)];
    ASSERT_EQ(std::ssize(pattern.columns_of(row)), std::min<std::int64_t>(4, seen));
    ASSERT_LT(pattern.columns_of(row).back(), seen);
    double total = 0;
    std::vector<double> weights(all.values_of(row).begin(), all.values_of(row).end());
    for (const double weight : weights) total += weight;
    EXPECT_NEAR(total, 1, static_cast<double>(seen) * 0x1p-50);
    std::ranges::sort(weights, std::greater<>());
    std::vector<double> kept(pattern.values_of(row).begin(), pattern.values_of(row).end());
    std::ranges::sort(kept, std::greater<>());
    for (std::size_t i = 0; i < kept.size(); ++i) EXPECT_EQ(kept[i], weights[i]);
    // Weights have the ratios of exponentials of logits, which are recomputed here.
    const auto logit = [&](std::int64_t j) {
      double dot = 0;
      for (std::int64_t c = 0; c < shape.head_dim; ++c)
        dot += static_cast<double>(data.q[static_cast<std::size_t>(
                   (head * shape.queries + row) * shape.head_dim + c)]) *
               keys[static_cast<std::size_t>(
                   ((head / shape.group()) * trace.tokens() + j) * shape.head_dim + c)];
      return static_cast<double>(shape.scale) * dot;
    };
    const auto columns = pattern.columns_of(row);
    const double gap = logit(columns.front()) - logit(columns.back());
    EXPECT_NEAR(std::log(pattern.values_of(row).front() / pattern.values_of(row).back()), gap,
                1e-12 * (1 + std::abs(gap)));
  }
}

TEST(Generate, WhatMakesNoPatternIsRefused) {
  const auto said = [](auto call) { return sentence(call, Code::usage); };
  constexpr double infinite = std::numeric_limits<double>::infinity();
  EXPECT_EQ(said([] { (void)lab::permutations_pattern(0, 1, 1, 0); }),
            "a pattern of n = 0 was asked for; n must be at least 1");
  EXPECT_EQ(said([] { (void)lab::permutations_pattern(4, 5, 1, 0); }),
            "k = 5 nonzeros per row were asked for; k must be from 1 to n = 4");
  EXPECT_EQ(said([] { (void)lab::causal_pattern(4, 0, 1, 0); }),
            "k = 0 nonzeros per row were asked for; k must be from 1 to n = 4");
  EXPECT_EQ(said([] { (void)lab::causal_pattern(4, 1, 0.5, 0); }),
            "gamma = 0.5 was asked for; it must be finite and at least 1");
  EXPECT_EQ(said([] { (void)lab::permutations_pattern(4, 1, infinite, 0); }),
            "gamma = inf was asked for; it must be finite and at least 1");
  EXPECT_EQ(said([] { (void)lab::permutations_pattern(4, 1, std::nan(""), 0); }),
            "gamma = nan was asked for; it must be finite and at least 1");
  EXPECT_EQ(said([] { (void)lab::permutations_pattern(std::int64_t{1} << 40, 1, 1, 0); }),
            "n = 1099511627776 was asked for; random patterns have at most 2^31 columns");
  EXPECT_EQ(said([] { (void)lab::banded_pattern(3, -1, false); }),
            "a band of reach -1 was asked for; it must be at least 0");
  EXPECT_EQ(said([] { (void)lab::block_pattern(3, 0, false); }),
            "blocks of 0 were asked for; a block has at least 1 index");
  EXPECT_EQ(said([] { (void)lab::pairs_pattern(1); }),
            "the pairs of n = 1 columns were asked for; n must be at least 2");
  constexpr std::int64_t huge = std::int64_t{1} << 62;
  for (const auto& call : std::vector<std::function<void()>>{
           [] { (void)lab::pairs_pattern(huge); },
           [] { (void)lab::pairs_pattern(std::int64_t{1} << 31); },
           [] { (void)lab::banded_pattern(huge, huge, true); },
           [] { (void)lab::block_pattern(huge, 1, false); },
           [] {
             (void)lab::permutations_pattern(std::int64_t{1} << 31, std::int64_t{1} << 31, 1, 0);
           }}) {
    const std::string refused = said(call);
    EXPECT_TRUE(refused.ends_with("of memory, so ask for a smaller one")) << refused;
  }
  const lab::Trace trace = small_trace();
  EXPECT_EQ(said([&] { (void)lab::top_keys_pattern(trace, 4, 0, 1); }),
            trace.path() + ": there is no layer 4; it has 3, 12, 21");
  EXPECT_EQ(
      said([&] { (void)lab::top_keys_pattern(trace, 3, -1, 1); }).substr(trace.path().size(), 32),
      ": there is no head -1 in layer 3");
  EXPECT_TRUE(said([&] {
                (void)lab::top_keys_pattern(trace, 3, 0, 0);
              }).starts_with("k = 0 keys per query"));
}

}  // namespace
}  // namespace tamis::test
