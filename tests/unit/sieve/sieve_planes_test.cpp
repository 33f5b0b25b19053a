// The claims of attention over a cache in planes, against the oracle: every kind of numbers,
// shape, budget, number of bits, history and target.
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <cmath>
#include <iostream>
#include <limits>
#include <random>

#include <tamis/error.h>
#include <tamis/executor.h>

#include "kernels/kernels.h"
#include "support/allocations.h"
#include "support/cache/cache_oracle.h"
#include "support/certificates/planes.h"
#include "support/certificates/sieve.h"
#include "support/targets.h"

namespace tamis::test {
namespace {

Oracle oracle_of(const Problem& problem) {
  return {problem.shape(), problem.q(), problem.kv(), problem.seen()};
}

CacheOptions coded(int bits, std::int64_t sinks = 0) {
  CacheOptions options;
  options.bits = bits;
  options.sinks = sinks;
  options.raw_below = 0;
  return options;
}

Happenings any_life(std::uint64_t number) {
  Happenings may;
  may.pieces = number % 3 != 0;
  may.cuts = number % 2 == 0;
  may.forks = number % 4 == 1;
  may.sheds = number % 5 == 4;
  may.files = number % 16 == 7;
  return may;
}

PlanesAsked asked_for(const Budget& budget, int look) {
  PlanesAsked asked;
  asked.budgets = {budget};
  asked.options.look = look;
  return asked;
}

TEST(SievePlanes, ClaimsHoldForAllNumbersShapesAndBudgets) {
  Workspace workspace(1);
  const std::vector<Budget> budgets = planes_budgets();
  Report all;
  std::uint64_t number = 0;
  for (const SieveCase& c : sieve_cases()) {
    const Problem problem(c.attention);
    const Oracle oracle = oracle_of(problem);
    const int bits = std::array{12, 16, 8}[++number % 3];
    for_each_target([&](const char* target) {
      ++number;
      const PlanesProblem planes(problem, coded(bits, c.sinks), any_life(number), number);
      for (std::size_t b = 0; b < budgets.size(); ++b) {
        const PlanesAsked asked = asked_for(budgets[b], static_cast<int>((b + number) % 3));
        const Report report =
            check_planes(oracle, planes, asked, run_planes(planes, asked, workspace));
        EXPECT_EQ(report.violations, 0)
            << name(c) << ", " << number << " on " << target << ": " << text(report.examples);
        all.add(report);
      }
    });
  }
  EXPECT_LT(all.blind, all.records / 20);  // the oracle is accurate enough to judge
  EXPECT_LT(all.dense, all.records / 2);
  std::cout << all.records << " certificates, " << all.dense << " dense, " << all.blind
            << " below what the oracle resolves\n";
}

/// The case on which tests of identities run.
Case usual_case(std::int64_t tokens, std::int64_t queries, Kind kind = Kind::peaked) {
  Case c;
  c.shape = {4, 2, queries, 40, 24, DType::bf16, 0.2F};
  c.tokens = tokens;
  c.kind = kind;
  c.causal = true;
  return c;
}

TEST(SievePlanes, HoldsOnEveryCaseOfDenseAttention) {
  Workspace workspace(1);
  const std::vector<Budget> budgets = planes_budgets();
  std::uint64_t number = 0;
  for (const Case& c : attention_cases()) {
    if (c.ragged) continue;  // the KV heads of a sequence have equal lengths
    const Problem problem(c);
    const Oracle oracle = oracle_of(problem);
    for_each_target([&](const char* target) {
      ++number;
      CacheOptions options =
          coded(std::array{12, 16, 8}[number % 3], static_cast<std::int64_t>(number % 6));
      if (number % 7 == 0) options.raw_below = 1024;
      const PlanesProblem planes(problem, options, any_life(number), number);
      for (const std::size_t b : {number % budgets.size(), (number + 7) % budgets.size()}) {
        PlanesAsked asked = asked_for(budgets[b], static_cast<int>(number % 3));
        if (number % 4 == 0) asked.out = DType::bf16;
        if (number % 5 == 0) asked.out = DType::f16;
        if (number % 3 == 0) asked.options.prefer = Prefer::time;
        const Report report =
            check_planes(oracle, planes, asked, run_planes(planes, asked, workspace));
        EXPECT_EQ(report.violations, 0)
            << name(c) << ", " << number << " on " << target << ": " << text(report.examples);
      }
    });
  }
}

TEST(SievePlanes, RowsFarApartInWidthDoNotDisturbEachOther) {
  Workspace workspace(1);
  for_each_target([&](const char* target) {
    for (const Kind kind : {Kind::mixed_rows, Kind::drift, Kind::zero_queries, Kind::equal_values})
      for (const std::int64_t queries : {1, 4, 16, 32, 33})
        for (const int bits : {8, 12, 16}) {
          const Case c = usual_case(900, queries, kind);
          const Problem problem(c);
          const PlanesProblem planes(problem, coded(bits, 4), {}, 3);
          for (const char* budget : {"mass:0.05", "bytes:0.3", "topk:20"}) {
            const PlanesAsked asked = asked_for(parse_budget(budget), 0);
            const Report report = check_planes(oracle_of(problem), planes, asked,
                                               run_planes(planes, asked, workspace));
            EXPECT_EQ(report.violations, 0)
                << name(c) << " on " << target << ": " << text(report.examples);
          }
        }
  });
}

TEST(SievePlanes, EveryHeadKeepsItsOwnBudget) {
  const Problem problem(usual_case(1200, 2));
  const Oracle oracle = oracle_of(problem);
  const PlanesProblem planes(problem, coded(12, 4), {}, 3);
  Workspace workspace(1);
  for (const std::vector<const char*>& texts :
       {std::vector<const char*>{"mass:0.3", "mass:0.01", "bytes:0.3", "bytes:0.2"},
        {"topk:5", "topk:50", "power:2,0.5", "power:1,0.6"},
        {"window:100,4", "window:7,0", "mass:0.05", "mass:0.02"}}) {
    PlanesAsked asked;
    for (const char* each : texts) asked.budgets.push_back(parse_budget(each));
    const Report report = check_planes(oracle, planes, asked, run_planes(planes, asked, workspace));
    EXPECT_EQ(report.violations, 0) << text(report.examples);
  }
}

TEST(SievePlanes, BitsAreTheSameForAnyNumberOfThreads) {
  for (const std::int64_t tokens : {700, 9000}) {
    const Problem problem(usual_case(tokens, 3));
    const PlanesProblem planes(problem, coded(12, 4), {}, 9);
    for (const Budget& budget : planes_budgets()) {
      const PlanesAsked asked = asked_for(budget, 0);
      Workspace one(1), three(3);
      EXPECT_TRUE(same_bits(run_planes(planes, asked, one), run_planes(planes, asked, three)))
          << to_string(budget) << ' ' << tokens;
    }
  }
}

TEST(SievePlanes, BitsDoNotDependOnTheHistoryOfWholeBlocks) {
  // Appending in pieces of any sizes gives the same blocks, and so does reading the sequence
  // from a file.
  const Problem problem(usual_case(1300, 2));
  Happenings none;
  none.pieces = none.cuts = none.forks = false;
  Happenings pieces = none;
  pieces.pieces = pieces.files = true;
  Workspace workspace(1);
  const PlanesProblem at_once(problem, coded(12, 4), none, 1);
  for (std::uint64_t seed = 1; seed < 9; ++seed) {
    const PlanesProblem slowly(problem, coded(12, 4), pieces, seed);
    for (const char* budget : {"mass:0.05", "bytes:0.3", "topk:20"}) {
      const PlanesAsked asked = asked_for(parse_budget(budget), 0);
      EXPECT_TRUE(
          same_bits(run_planes(at_once, asked, workspace), run_planes(slowly, asked, workspace)))
          << budget << ' ' << seed;
    }
  }
}

TEST(SievePlanes, ASequencesBitsDoNotDependOnTheRestOfTheBatch) {
  const Case c = usual_case(1300, 2);
  const Problem problem(c);
  PlanesProblem planes(problem, coded(12, 4), {}, 5);
  Workspace workspace(2);
  planes.cache.fork(PlanesProblem::sequence, 1300, 1001);
  planes.cache.fork(PlanesProblem::sequence, 900, 1002);
  planes.cache.fork(PlanesProblem::sequence, 100, 1003);
  const Budget budget = parse_budget("mass:0.05");
  const auto run = [&](std::vector<Sequence> sequences, std::vector<std::int64_t> queries) {
    const tamis::Plan plan(planes.cache, {sequences, queries, {}});
    const std::int64_t rows = plan.queries() * 4;
    std::vector<float> q;
    for (std::int64_t i = 0; i < plan.queries(); ++i)
      q.insert(q.end(), planes.q.begin() + i % 2 * 160, planes.q.begin() + (i % 2 + 1) * 160);
    std::vector<float> out(static_cast<std::size_t>(rows * 24)),
        lse(static_cast<std::size_t>(rows));
    std::vector<tamis::Certificate> certificates(static_cast<std::size_t>(rows));
    tamis::attend(planes.cache, plan, {q.data(), DType::f32, 160, 40}, {&budget, 1}, {}, workspace,
                  {{out.data(), DType::f32, 96, 24}, lse, certificates});
    return out;
  };
  const std::vector<float> alone = run({1002}, {2});
  const std::vector<float> together =
      run({1001, 1002, 1003, PlanesProblem::sequence}, {2, 2, 0, 40});
  EXPECT_TRUE(std::equal(alone.begin(), alone.end(), together.begin() + 2 * 96));
  const std::vector<float> last = run({1003, 1002}, {2, 2});
  EXPECT_TRUE(std::equal(alone.begin(), alone.end(), last.begin() + 2 * 96));
}

/// Gives all items to the first worker, or all to the second.
class OneOfTwo : public Executor {
 public:
  bool second = false;
  [[nodiscard]] int concurrency() const override { return 2; }
  void run(int workers, void* context, void (*body)(void*, int)) override {
    if (second && workers > 1) body(context, 1);
    body(context, 0);
  }
};

TEST(SievePlanes, AllocatesNothingTheSecondTimeWhoeverWorks) {
  const Problem problem(usual_case(1300, 2));
  PlanesProblem planes(problem, coded(12, 4), {}, 5);
  OneOfTwo executor;
  Workspace workspace(2, executor);
  const Sequence sequence = PlanesProblem::sequence;
  const std::int64_t queries = 2;
  const tamis::Plan plan(planes.cache, {{&sequence, 1}, {&queries, 1}, {}});
  const Budget budget = parse_budget("mass:0.05");
  std::vector<float> out(8 * 24), lse(8);
  const auto attend = [&] {
    tamis::attend(planes.cache, plan, {planes.q.data(), DType::f32, 160, 40}, {&budget, 1}, {},
                  workspace, {{out.data(), DType::f32, 96, 24}, lse, {}});
  };
  attend();
  executor.second = true;
  const std::int64_t before = allocations();
  attend();
  EXPECT_EQ(allocations(), before);
}

TEST(SievePlanes, APlanIsForCachesWithAsManyHeads) {
  const Problem problem(usual_case(600, 2));
  PlanesProblem planes(problem, coded(12, 4), {}, 5);
  const Sequence sequence = PlanesProblem::sequence;
  const std::int64_t queries = 2;
  Heads other = planes.cache.heads();
  other.kv_heads = other.query_heads;
  Cache cache(other, coded(12, 4));
  cache.add(sequence);
  Workspace workspace(1);
  const std::vector<bf16> zeros(static_cast<std::size_t>(600 * other.kv_heads * 40));
  const std::int64_t tokens = 600;
  const std::int64_t row = other.kv_heads * other.key_dim;
  cache.append({&sequence, 1}, {&tokens, 1}, {zeros.data(), DType::bf16, row, other.key_dim, 1, 0},
               {zeros.data(), DType::bf16, row, other.key_dim, 1, 0}, workspace);
  const tamis::Plan plan(planes.cache, {{&sequence, 1}, {&queries, 1}, {}});
  const Budget budget = parse_budget("mass:0.05");
  std::vector<float> out(1000), lse(static_cast<std::size_t>(2 * other.query_heads));
  try {
    tamis::attend(cache, plan, {planes.q.data(), DType::f32, 160, 40}, {&budget, 1}, {}, workspace,
                  {{out.data(), DType::f32, 160, 40}, lse, {}});
    FAIL() << "nothing was said";
  } catch (const Error& error) {
    EXPECT_STREQ(error.what(),
                 "the plan was made for 4 query heads on 2 KV heads; the cache has 4 on 4");
  }
}

TEST(SievePlanes, ValuesOfWhichNothingIsMissingAreNotRead) {
  // With equal values their mean is exact, whatever the weights of the keys.
  Cache cache({2, 1, 32, 32, 0.2F}, coded(12));
  const Sequence sequence = 1;
  cache.add(sequence);
  Workspace workspace(1);
  std::mt19937 random(3);
  std::normal_distribution<float> normal;
  std::vector<bf16> keys, values(512 * 32, to_bf16(0.5F));
  for (int i = 0; i < 512 * 32; ++i) keys.push_back(to_bf16(normal(random)));
  const std::int64_t tokens = 512, queries = 1;
  cache.append({&sequence, 1}, {&tokens, 1}, {keys.data(), DType::bf16, 32, 0, 1, 0},
               {values.data(), DType::bf16, 32, 0, 1, 0}, workspace);
  std::vector<float> q(64), out(64), lse(2);
  for (float& x : q) x = normal(random);
  const tamis::Plan plan(cache, {{&sequence, 1}, {&queries, 1}, {}});
  for (const char* text : {"mass:0.05", "bytes:0.3"}) {
    const Budget budget = parse_budget(text);
    std::vector<tamis::Certificate> certificates(2);
    tamis::attend(cache, plan, {q.data(), DType::f32, 64, 32}, {&budget, 1}, {}, workspace,
                  {{out.data(), DType::f32, 64, 32}, lse, certificates});
    for (const tamis::Certificate& c : certificates) {
      EXPECT_EQ(c.reached, tamis::Reached::met) << text;
      EXPECT_EQ(c.centre_values, 512) << text;
      EXPECT_LE(c.tau, 0.05) << text;
    }
    EXPECT_NEAR(out[5], 0.5F, certificates[0].error);
  }
}

TEST(SievePlanes, AQueryThatIsNotFiniteHarmsNoOther) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const float infinity = std::numeric_limits<float>::infinity();
  Workspace workspace(1);
  for_each_target([&](const char* target) {
    for (const std::int64_t queries : {3, 40})
      for (const float bad : {nan, infinity, -infinity, 3e38F})
        for (const char* budget : {"mass:0.05", "bytes:0.3", "topk:20", "window:30,2"}) {
          const Problem problem(usual_case(600, queries));
          PlanesProblem planes(problem, coded(12, 4), {}, 5);
          const std::int64_t dims = 4 * 40;
          planes.q[static_cast<std::size_t>(dims + 7)] = bad;  // of query 1, head 0
          PlanesAsked asked = asked_for(parse_budget(budget), 0);
          asked.out = queries == 3 ? DType::bf16 : DType::f32;
          const PlanesResult result = run_planes(planes, asked, workspace);
          const Oracle oracle = oracle_of(problem);
          for (std::int64_t row = 0; row < queries * 4; ++row) {
            const auto r = static_cast<std::size_t>(row);
            const tamis::Certificate& c = result.certificates[r];
            const auto out = std::span(result.out).subspan(r * 24, 24);
            if (row == 4) {
              if (bad == 3e38F) continue;  // its logits may be finite
              EXPECT_EQ(c.reached, tamis::Reached::not_finite)
                  << bad << ' ' << budget << ' ' << target;
              EXPECT_TRUE(std::isnan(out[0]) && std::isinf(c.error) && std::isinf(c.lse_error));
              continue;
            }
            EXPECT_NE(c.reached, tamis::Reached::not_finite) << row;
            const float lse = result.lse[r];
            EXPECT_EQ(false_claim(oracle[row % 4 * queries + row / 4], out, lse, c), "")
                << row << ' ' << bad << ' ' << budget << ' ' << target;
          }
        }
  });
}

TEST(SievePlanes, OutputsAndQueriesOfTwoBytesAreRoundedOnceAndSayBy) {
  Workspace workspace(1);
  const Problem problem(usual_case(1200, 2));
  const PlanesProblem planes(problem, coded(16, 4), {}, 5);
  PlanesAsked asked = asked_for(parse_budget("mass:0.001"), 0);
  const PlanesResult exact = run_planes(planes, asked, workspace);
  for (const DType dtype : {DType::f16, DType::bf16}) {
    asked.out = dtype;
    const PlanesResult rounded = run_planes(planes, asked, workspace);
    for (std::size_t i = 0; i < exact.out.size(); ++i)
      EXPECT_EQ(rounded.out[i], stored(dtype, exact.out[i]));
    for (std::size_t r = 0; r < exact.certificates.size(); ++r) {
      double moved = 0;
      for (std::size_t c = 0; c < 24; ++c) {
        const double by = static_cast<double>(rounded.out[r * 24 + c]) - exact.out[r * 24 + c];
        moved += by * by;
      }
      EXPECT_GE(rounded.certificates[r].error, exact.certificates[r].error + std::sqrt(moved));
      EXPECT_LE(rounded.certificates[r].error,
                exact.certificates[r].error + std::sqrt(moved) * (1 + 1e-6));
    }
  }
}

TEST(SievePlanes, MassIsProvedOrEverythingThatIsStoredWasRead) {
  Workspace workspace(1);
  std::int64_t met = 0;
  std::int64_t missed = 0;
  for (const Kind kind :
       {Kind::normal, Kind::peaked, Kind::outliers, Kind::duplicates, Kind::lopsided})
    for (const int bits : {8, 12, 16})
      for (const char* budget : {"mass:0.2", "mass:0.05", "mass:0.01", "mass:0.001"}) {
        const Problem problem(usual_case(2000, 1, kind));
        const PlanesProblem planes(problem, coded(bits, 4), {}, 5);
        const PlanesAsked asked = asked_for(parse_budget(budget), 0);
        for (const tamis::Certificate& c : run_planes(planes, asked, workspace).certificates) {
          (c.reached == tamis::Reached::met ? met : missed) += 1;
          if (c.reached == tamis::Reached::met) {
            EXPECT_LE(c.tau, asked.budgets[0].eps);
            continue;
          }
          for (int l = 0; l + 1 < bits / 4; ++l)
            EXPECT_EQ(c.keys[l], 0) << name_of(kind) << ' ' << budget;
        }
      }
  EXPECT_GT(met, 0);
  EXPECT_GT(missed, 0);
}

RC_GTEST_PROP(SievePlanes, CertificatesHoldForAnyShapeBudgetAndHistory, ()) {
  Case c;
  c.seed = *rc::gen::arbitrary<std::uint64_t>();
  c.kind = *rc::gen::elementOf(std::vector<Kind>(all_kinds().begin(), all_kinds().end()));
  Shape& shape = c.shape;
  shape.kv_heads = *rc::gen::inRange(1, 3);
  shape.query_heads = shape.kv_heads * *rc::gen::inRange(1, 9);
  shape.queries = *rc::gen::inRange(1, 9);
  shape.head_dim = *rc::gen::inRange(1, 200);
  shape.value_dim = *rc::gen::inRange(1, 200);
  shape.dtype = *rc::gen::element(DType::f32, DType::f16, DType::bf16);
  shape.scale = *rc::gen::element(1.0F, 0.125F, -0.25F, 0.0F, 4.0F);
  c.tokens = *rc::gen::inRange(0, 1400);
  c.masked = *rc::gen::arbitrary<bool>();
  c.hidden = *rc::gen::inRange<std::int64_t>(0, c.tokens + 1);
  Budget budget;
  budget.kind = *rc::gen::element(Budget::Kind::mass, Budget::Kind::bytes, Budget::Kind::topk,
                                  Budget::Kind::power, Budget::Kind::window);
  budget.eps = *rc::gen::element(0.9, 0.2, 0.02, 1e-5, 1e-9);
  budget.share = *rc::gen::element(0.01, 0.15, 0.3, 0.7, 1.0);
  budget.k = *rc::gen::inRange(1, 1000);
  budget.exponent = *rc::gen::element(0.0, 0.5, 0.9, 1.0);
  budget.window = *rc::gen::inRange(1, 1000);
  budget.sinks = *rc::gen::inRange(0, 300);
  CacheOptions options = coded(*rc::gen::element(8, 12, 16), *rc::gen::inRange(0, 129));
  options.raw_below = *rc::gen::element(0, 0, 0, 300);
  PlanesAsked asked = asked_for(budget, *rc::gen::inRange(0, 3));
  asked.out = *rc::gen::element(DType::f32, DType::f32, DType::bf16);
  asked.options.value_share = *rc::gen::element(0.4, 0.01, 5.0);
  const Problem problem(c);
  const auto number = *rc::gen::arbitrary<std::uint64_t>();
  const PlanesProblem planes(problem, options, any_life(number), number);
  Workspace workspace(1);
  const Report report =
      check_planes(oracle_of(problem), planes, asked, run_planes(planes, asked, workspace));
  if (report.violations > 0) RC_FAIL(name(c) + ": " + text(report.examples));
}

}  // namespace
}  // namespace tamis::test
