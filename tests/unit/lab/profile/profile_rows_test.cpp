// Row figures of whole calls over the attention cases of cases.h, against f64 from q and k, and
// the other promises of their contract.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include <tamis/error.h>
#include <tamis/lab/rows.h>

#include "kernels/kernels.h"
#include "support/cases.h"
#include "support/oracle.h"
#include "support/targets.h"

namespace tamis::test {
namespace {

lab::RowFigures figures_of(const Problem& problem, Workspace& workspace,
                           const lab::RowOptions& options = {}) {
  return lab::row_figures(problem.shape(), problem.q(), problem.kv(), problem.seen(), options,
                          workspace);
}

bool same_bits(const lab::RowFigures& a, const lab::RowFigures& b) {
  return a.grid == b.grid && a.n == b.n && a.k_eps == b.k_eps && a.w_eps == b.w_eps &&
         a.curve == b.curve && a.top1 == b.top1 && a.entropy == b.entropy && a.sink == b.sink &&
         a.window == b.window && a.mean == b.mean && a.sigma == b.sigma;
}

/// The fewest weights, heaviest first, whose dropped mass is at most eps: all for eps ≤ 0, none
/// for eps ≥ 1.
std::int64_t fewest(const std::vector<double>& sorted, double eps) {
  if (eps >= 1) return 0;
  double dropped = 0;
  auto k = static_cast<std::int64_t>(sorted.size());
  for (; k > 1; --k) {
    dropped += sorted[static_cast<std::size_t>(k - 1)];
    if (dropped > eps) break;
  }
  return k;
}

TEST(ProfileRows, FiguresLieWithinTheRoundingOfExactAttention) {
  Workspace workspace(1);
  lab::RowOptions options;
  options.sinks = 2;
  options.windows = {1, 100};
  for (const Case& c : attention_cases()) {
    const Problem problem(c);
    const Oracle oracle(problem.shape(), problem.q(), problem.kv(), problem.seen());
    for_each_target([&](const char* target) {
      SCOPED_TRACE(name(c) + " on " + target);
      const lab::RowFigures figures = figures_of(problem, workspace, options);
      for (std::int64_t row = 0; row < figures.rows; ++row) {
        const auto r = static_cast<std::size_t>(row);
        const ExactRow& exact = oracle[row];
        const auto n = static_cast<std::int64_t>(exact.weights.size());
        ASSERT_EQ(figures.n[r], n);
        if (n == 0) {
          EXPECT_EQ(figures.top1[r], 0);
          continue;
        }
        const double t = std::min(1.0, problem.bound(row).tau + exact.tau_slack);
        std::vector<double> sorted(exact.weights.begin(), exact.weights.end());
        std::sort(sorted.begin(), sorted.end(), std::greater<>());
        for (std::size_t e = 0; e < options.eps.size(); ++e) {
          EXPECT_GE(figures.k_eps_of(row)[e], fewest(sorted, options.eps[e] + t));
          EXPECT_LE(figures.k_eps_of(row)[e], fewest(sorted, options.eps[e] - t));
        }
        const auto mass = [](auto first, auto last) { return std::accumulate(first, last, 0.0); };
        EXPECT_NEAR(figures.top1[r], sorted[0], t);
        for (std::size_t g = 0; g < figures.grid.size(); ++g)
          EXPECT_NEAR(figures.curve_of(row)[g],
                      mass(sorted.begin(), sorted.begin() + std::min(figures.grid[g], n)), t);
        EXPECT_NEAR(
            figures.sink[r],
            mass(exact.weights.begin(), exact.weights.begin() + std::min<std::int64_t>(2, n)), t);
        EXPECT_NEAR(figures.window[2 * r], exact.weights.back(), t);
        EXPECT_NEAR(figures.window[2 * r + 1],
                    mass(exact.weights.end() - std::min<std::int64_t>(100, n), exact.weights.end()),
                    t);
        double entropy = 0;
        for (const double p : sorted) entropy -= p > 0 ? p * std::log(p) : 0;
        // The Fannes–Audenaert inequality: entropies of distributions at
        // total-variation distance t.
        const double apart = t < 1 ? t * std::log(static_cast<double>(n)) - t * std::log(t) -
                                         (1 - t) * std::log1p(-t)
                                   : INFINITY;
        EXPECT_NEAR(figures.entropy[r], entropy, apart);
      }
    });
  }
}

TEST(ProfileRows, MeanAndSpreadAreThoseOfTheLogits) {
  Workspace workspace(1);
  for (const Case& c : attention_cases()) {
    if (c.shape.dtype != DType::f32 || c.padded_rows) continue;
    const Problem problem(c);
    const Shape& shape = problem.shape();
    const lab::RowFigures figures = figures_of(problem, workspace);
    for (std::int64_t row = 0; row < figures.rows; ++row) {
      const auto r = static_cast<std::size_t>(row);
      const KvPages& kv =
          problem.kv()[static_cast<std::size_t>(row / (shape.group() * shape.queries))];
      std::vector<double> s;
      for (std::int64_t j = 0; j < figures.n[r]; ++j) {
        const auto* key =
            static_cast<const float*>(kv.k[j / page_tokens]) + j % page_tokens * kv.k_stride;
        double dot = 0;
        for (std::int64_t i = 0; i < shape.head_dim; ++i)
          dot += static_cast<double>(problem.q()(row, i)) * key[i];
        s.push_back(dot * shape.scale);
      }
      if (s.empty()) continue;
      double mean = 0;
      for (const double x : s) mean += x / static_cast<double>(s.size());
      double square = 0;
      for (const double x : s) square += (x - mean) * (x - mean) / static_cast<double>(s.size());
      // The bound of lse contains that of every logit, and both figures move no further than
      // the logits do.
      const double tolerance = problem.bound(row).lse;
      EXPECT_NEAR(figures.mean[r], mean, tolerance) << name(c);
      EXPECT_NEAR(figures.sigma[r], std::sqrt(square), 2 * tolerance) << name(c);
    }
  }
}

Case long_case() {
  Case c;
  c.shape = {6, 2, 40, 64, 64, DType::f16, 0.3F};
  c.tokens = 3000;
  c.kind = Kind::peaked;
  c.causal = true;
  return c;
}

TEST(ProfileRows, BitsDoNotDependOnThreadsOrOnOtherQueries) {
  const Problem problem(long_case());
  Workspace one(1);
  const lab::RowFigures expected = figures_of(problem, one);
  for (const int threads : {2, 0}) {
    Workspace workspace(threads);
    EXPECT_TRUE(same_bits(figures_of(problem, workspace), expected));
  }
  // The last query of each head alone.
  Shape shape = problem.shape();
  const std::int64_t last = shape.queries - 1;
  std::vector<float> q;
  for (std::int64_t h = 0; h < shape.query_heads; ++h) {
    const auto row = problem.q().row(h * shape.queries + last);
    q.insert(q.end(), row.begin(), row.end());
  }
  const std::int64_t queries = std::exchange(shape.queries, 1);
  const lab::RowFigures alone =
      lab::row_figures(shape, {q.data(), shape.rows(), shape.head_dim}, problem.kv(),
                       problem.seen().subspan(static_cast<std::size_t>(last)), {}, one);
  for (std::int64_t h = 0; h < shape.query_heads; ++h) {
    const std::int64_t row = h * queries + last;
    EXPECT_TRUE(std::ranges::equal(alone.k_eps_of(h), expected.k_eps_of(row)));
    EXPECT_TRUE(std::ranges::equal(alone.curve_of(h), expected.curve_of(row)));
    EXPECT_EQ(alone.entropy[static_cast<std::size_t>(h)],
              expected.entropy[static_cast<std::size_t>(row)]);
  }
}

TEST(ProfileRows, ValuesAreNotRead) {
  const Problem problem(long_case());
  std::vector<KvPages> kv(problem.kv().begin(), problem.kv().end());
  for (KvPages& head : kv) head.v = nullptr;
  Workspace workspace(1);
  EXPECT_TRUE(
      same_bits(lab::row_figures(problem.shape(), problem.q(), kv, problem.seen(), {}, workspace),
                figures_of(problem, workspace)));
}

TEST(ProfileRows, ProgressRisesToItsTotalAndMayCancel) {
  const Problem problem(long_case());
  for (const int threads : {1, 2}) {
    Workspace workspace(threads);
    double last = -1;
    double total = 0;
    (void)lab::row_figures(problem.shape(), problem.q(), problem.kv(), problem.seen(), {},
                           workspace, [&](double done, double all) {
                             EXPECT_GE(done, last);
                             last = done;
                             total = all;
                             return true;
                           });
    EXPECT_EQ(last, total);
    EXPECT_GT(total, 1);
    int calls = 0;
    try {
      (void)lab::row_figures(problem.shape(), problem.q(), problem.kv(), problem.seen(), {},
                             workspace, [&](double, double) { return ++calls < 2; });
      FAIL() << "not cancelled";
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), Code::cancelled);
    }
    EXPECT_EQ(calls, 2);
  }
}

TEST(ProfileRows, WhatIsNotFiniteIsRefusedOnlyWhereItIsSeen) {
  constexpr std::int64_t d = 8;
  constexpr std::int64_t tokens = 300;
  const Shape shape{1, 1, 2, d, d, DType::f32, 1.0F};
  Workspace workspace(1);
  for (const float bad : {std::nanf(""), INFINITY, 3e38F}) {
    std::vector<float> q(2 * d, 2.0F);
    std::vector<float> k(tokens * d, 0.25F);
    k[200 * d + 3] = bad;
    const PageTables tables(DType::f32, k.data(), k.data(), 1, tokens, d, d);
    const View<const float> queries{q.data(), 2, d};
    const std::vector<std::int64_t> before{50, 200};
    EXPECT_EQ(lab::row_figures(shape, queries, tables.heads(), before, {}, workspace).n[1], 200);
    const std::vector<std::int64_t> after{50, 201};
    try {
      (void)lab::row_figures(shape, queries, tables.heads(), after, {}, workspace);
      FAIL() << bad << " was not refused";
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), Code::input);
      EXPECT_NE(std::string(error.what()).find("query 1 of head 0"), std::string::npos)
          << error.what();
    }
  }
}

TEST(ProfileRows, OptionsOutOfRangeAreNamed) {
  const Problem problem(long_case());
  Workspace workspace(1);
  const auto message = [&](const lab::RowOptions& options) {
    try {
      (void)figures_of(problem, workspace, options);
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), Code::usage);
      return std::string(error.what());
    }
    return std::string("nothing");
  };
  EXPECT_NE(message({.eps = {0.0}}).find("eps is 0"), std::string::npos);
  EXPECT_NE(message({.eps = {0.1, 1.0}}).find("eps is 1"), std::string::npos);
  EXPECT_NE(message({.eps = {std::nan("")}}).find("eps is nan"), std::string::npos);
  EXPECT_NE(message({.sinks = -1}).find("sinks is -1"), std::string::npos);
  EXPECT_NE(message({.windows = {0}}).find("window"), std::string::npos);
}

}  // namespace
}  // namespace tamis::test
