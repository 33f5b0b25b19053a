// The shortest query of a row, against a search over all subsets of conditions held with equality.
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <cmath>
#include <limits>
#include <optional>

#include "lab/numbers/random.h"
#include "lab/realise/least_query.h"

namespace tamis::test {
namespace {

struct Linear {  // normal·q ≥ bound
  std::vector<double> normal;
  double bound;
};

double dot(const std::vector<double>& x, const std::vector<double>& y) {
  double sum = 0;
  for (std::size_t c = 0; c < x.size(); ++c) sum += x[c] * y[c];
  return sum;
}

struct Row {
  std::int64_t dim, keys;
  std::vector<double> k;
  std::vector<std::int64_t> support;
  std::vector<double> log;
  std::vector<std::int32_t> others;
  double gap = 2.3;
  double spread = 0.7;

  [[nodiscard]] lab::realisation::RowProblem problem() const {
    return {View<const double>(k.data(), keys, dim), support, log, others, gap, spread};
  }
  [[nodiscard]] std::vector<Linear> conditions() const {
    std::vector<Linear> all;
    const auto add = [&](std::int64_t plus, std::int64_t minus, double bound) {
      Linear one{std::vector<double>(static_cast<std::size_t>(dim)), bound};
      for (std::int64_t c = 0; c < dim; ++c) one.normal[c] = k[plus * dim + c] - k[minus * dim + c];
      all.push_back(one);
    };
    for (const std::int64_t a : support)
      for (const std::int32_t b : others) add(a, b, gap);
    if (!log.empty())
      for (std::size_t a = 0; a < support.size(); ++a)
        for (std::size_t b = 0; b < support.size(); ++b)
          if (a != b) add(support[a], support[b], log[a] - log[b] - spread);
    return all;
  }
};

Row random_row(std::uint64_t seed, std::int64_t dim, std::int64_t keys, std::int64_t nonzeros,
               bool weak) {
  const lab::numbers::Stream stream(seed, lab::numbers::Purpose::test, 21);
  std::uint32_t draw = 0;
  Row row{dim, keys, {}, {}, {}, {}};
  for (std::int64_t i = 0; i < dim * keys; ++i) row.k.push_back(stream.normal(draw++));
  for (std::int64_t j = 0; j < keys; ++j) {
    if (j < nonzeros) {
      row.support.push_back(j);
      if (!weak) row.log.push_back(0.5 * stream.normal(draw++));
    } else {
      row.others.push_back(static_cast<std::int32_t>(j));
    }
  }
  return row;
}

/// The shortest q that meets these conditions with equality: q = Σ λ·normal, by Gaussian
/// elimination on the Gram matrix. Nothing if the conditions are dependent.
std::optional<std::vector<double>> with_equality(const std::vector<Linear>& all,
                                                 const std::vector<std::size_t>& chosen) {
  const std::size_t n = chosen.size();
  std::vector<std::vector<double>> a(n, std::vector<double>(n + 1));
  for (std::size_t i = 0; i < n; ++i) {
    for (std::size_t j = 0; j < n; ++j) a[i][j] = dot(all[chosen[i]].normal, all[chosen[j]].normal);
    a[i][n] = all[chosen[i]].bound;
  }
  for (std::size_t i = 0; i < n; ++i) {
    std::size_t pivot = i;
    for (std::size_t r = i; r < n; ++r)
      if (std::abs(a[r][i]) > std::abs(a[pivot][i])) pivot = r;
    // They are dependent if elimination leaves almost nothing of the normal's own length.
    if (std::abs(a[pivot][i]) < 1e-12 * dot(all[chosen[i]].normal, all[chosen[i]].normal))
      return std::nullopt;
    std::swap(a[i], a[pivot]);
    for (std::size_t r = 0; r < n; ++r) {
      if (r == i) continue;
      const double f = a[r][i] / a[i][i];
      for (std::size_t c = i; c <= n; ++c) a[r][c] -= f * a[i][c];
    }
  }
  std::vector<double> q(all[0].normal.size());
  for (std::size_t i = 0; i < n; ++i)
    for (std::size_t c = 0; c < q.size(); ++c) q[c] += a[i][n] / a[i][i] * all[chosen[i]].normal[c];
  return q;
}

bool feasible(const std::vector<Linear>& all, const std::vector<double>& q) {
  for (const Linear& one : all)
    if (dot(one.normal, q) < one.bound - 1e-7) return false;
  return true;
}

/// At the shortest feasible point some conditions hold with equality, at most
/// `dim` independent ones.
std::optional<double> shortest_by_subsets(const std::vector<Linear>& all, std::size_t dim) {
  std::optional<double> best;
  const auto consider = [&](const std::vector<std::size_t>& chosen) {
    const auto q = with_equality(all, chosen);
    if (q && feasible(all, *q) && (!best || dot(*q, *q) < *best)) best = dot(*q, *q);
  };
  std::vector<std::size_t> chosen;
  const auto choose = [&](auto&& self, std::size_t from) -> void {
    if (!chosen.empty()) consider(chosen);
    if (chosen.size() == dim) return;
    for (std::size_t i = from; i < all.size(); ++i) {
      chosen.push_back(i);
      self(self, i + 1);
      chosen.pop_back();
    }
  };
  if (feasible(all, std::vector<double>(dim))) return 0.0;
  choose(choose, 0);
  return best;
}

RC_GTEST_PROP(LeastQuery, IsAsShortAsTheBestSubsetOfConditionsAllows, ()) {
  const auto seed = *rc::gen::resize(rc::kNominalSize, rc::gen::arbitrary<std::uint64_t>());
  const auto dim = *rc::gen::inRange<std::int64_t>(1, 4);
  const auto keys = *rc::gen::inRange<std::int64_t>(2, 7);
  const auto nonzeros = *rc::gen::inRange<std::int64_t>(1, std::min<std::int64_t>(keys, 3) + 1);
  const Row row = random_row(seed, dim, keys, nonzeros, *rc::gen::arbitrary<bool>());
  const std::vector<Linear> all = row.conditions();
  lab::realisation::LeastQuery solver(dim);
  std::vector<double> q(static_cast<std::size_t>(dim));
  const bool solved = solver.solve(row.problem(), q);
  const std::optional<double> best = all.empty()
                                         ? std::optional<double>(0.0)
                                         : shortest_by_subsets(all, static_cast<std::size_t>(dim));
  RC_ASSERT(solved == best.has_value());
  if (!solved) return;
  RC_ASSERT(feasible(all, q));
  RC_ASSERT(std::abs(dot(q, q) - *best) <= 1e-6 * (1 + *best));
}

RC_GTEST_PROP(LeastQuery, MeetsEveryConditionInManyDimensions, ()) {
  const auto seed = *rc::gen::resize(rc::kNominalSize, rc::gen::arbitrary<std::uint64_t>());
  const Row row = random_row(seed, 24, 60, 3, false);
  lab::realisation::LeastQuery solver(row.dim);
  std::vector<double> q(static_cast<std::size_t>(row.dim));
  // For 60 random points in 24 dimensions a query that selects three need not exist; if one is
  // found, it must meet every condition.
  if (solver.solve(row.problem(), q)) RC_ASSERT(feasible(row.conditions(), q));
}

TEST(LeastQuery, FindsNoQueryWhereAKeyLiesBetweenTheSupport) {
  Row row{1, 3, {-1, 1, 0}, {0, 1}, {0, 0}, {2}};
  lab::realisation::LeastQuery solver(1);
  std::vector<double> q(1);
  EXPECT_FALSE(solver.solve(row.problem(), q));
  row.k = {-1, -1, 0};
  ASSERT_TRUE(solver.solve(row.problem(), q));
  EXPECT_NEAR(q[0], -2.3, 1e-8);
}

}  // namespace
}  // namespace tamis::test
