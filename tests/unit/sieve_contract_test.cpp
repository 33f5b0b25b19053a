// What else `attend` promises: same bits however it is run, dense where that is right, errors by name.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <thread>

#include <tamis/error.h>
#include <tamis/sieve.h>

#include "support/allocations.h"
#include "support/certificates.h"
#include "support/sieve.h"
#include "support/targets.h"

namespace tamis::testing {
namespace {

/// A problem with its index, and calls on it.
struct Scene {
  explicit Scene(std::int64_t tokens, std::int64_t group = 4, std::int64_t queries = 1,
                 Kind kind = Kind::peaked, DType dtype = DType::bf16, std::int64_t kv_heads = 2)
      : c{make(tokens, group, queries, kind, dtype, kv_heads)},
        problem(c.attention),
        index(index_of(c, problem)) {}

  static Case make(std::int64_t tokens, std::int64_t group, std::int64_t queries, Kind kind, DType dtype,
                   std::int64_t kv_heads) {
    Case attention;
    attention.shape = {kv_heads * group, kv_heads, queries, 64, 48, dtype, 0.125F};
    attention.tokens = tokens;
    attention.kind = kind;
    return attention;
  }
  SieveCall call(const Budget& budget, bool ladder = true, std::int64_t dense_below = 0) const {
    SieveCall call = call_of(index, problem, {&budget, 1});
    call.ladder = ladder;
    call.dense_below = dense_below;
    return call;
  }

  SieveCase c;
  Problem problem;
  Index index;
};

bool is_dense(const SieveResult& result, const DenseResult& dense) {
  for (const Certificate& c : result.certificates)
    if (!c.dense) return false;
  return result.out == dense.out && result.lse == dense.lse;
}

TEST(SieveContract, SameBitsForAnyNumberOfThreadsWarmOrCold) {
  std::vector<Budget> budgets;
  for (const char* text : {"mass:0.05", "mass:0.5", "bytes:0.35", "topk:16", "power:3,0.7", "window:100,4"})
    budgets.push_back(parse_budget(text));
  // 35 or 109 blocks: several spans, the last a ragged one, and walks that look at a part of the blocks.
  for (const Kind kind : {Kind::peaked, Kind::drift, Kind::huge_sinks}) {
    // Huge sinks make few keys count, and this context is long enough for forecasts.
    const Scene scene(kind == Kind::huge_sinks ? 14'000 : 4500, 4, 2, kind);
    const Scene other(900, 2, 1, Kind::outliers, DType::f32);
    for_each_target([&](const char* target) {
      SCOPED_TRACE(target);
      Workspace warm(3);  // too few heads for whole ones: they are cut into spans
      Workspace one(1);
      int sparse = 0;
      for (const Budget& budget : budgets)
        for (const bool ladder : {true, false})
          for (const auto& [fewest_bytes, forecast] :
               {std::pair{true, true}, std::pair{false, true}, std::pair{false, false}}) {
            Workspace cold(1);
            SieveCall call = scene.call(budget, ladder);
            call.fewest_bytes = fewest_bytes;
            call.forecast = forecast;
            const SieveResult first = run_attend(call, cold).value();
            if (budget.kind == Budget::Kind::mass && ladder && !fewest_bytes && forecast &&
                !first.certificates[0].dense)
              ++sparse;
            EXPECT_TRUE(same_bits(first, run_attend(call, warm).value())) << to_string(budget);
            // After another problem, another budget and itself, with and without the weights.
            run_attend(other.call(budgets[0]), one);
            EXPECT_TRUE(same_bits(first, run_attend(call, one, false).value())) << to_string(budget);
            EXPECT_TRUE(same_bits(first, run_attend(call, one).value())) << to_string(budget);
          }
      if (kind == Kind::huge_sinks) {
        EXPECT_GT(sparse, 0) << "a budget of mass is met densely all the time";
      }
    });
  }
}

TEST(SieveContract, SameBitsWhetherThreadsTakeHeadsOrSpans) {
  // Five heads: with two threads four of them whole, the last by spans.
  for (const std::int64_t kv_heads : {1, 5}) {
    const Scene scene(4500, 2, 1, Kind::peaked, DType::bf16, kv_heads);
    for (const Budget& budget : sieve_budgets())
      for (const bool directly : {false, true}) {
        const SieveCall call = directly ? scene.call(budget).directly() : scene.call(budget);
        Workspace one(1);
        Workspace two(2);
        const SieveResult first = run_attend(call, one).value();
        EXPECT_TRUE(same_bits(first, run_attend(call, two).value())) << to_string(budget);
        EXPECT_TRUE(same_bits(first, run_attend(call, two, false).value())) << to_string(budget);
      }
  }
}

TEST(SieveContract, ResultsDoNotDependOnWhatTheOtherKvHeadsHold) {
  const Scene scene(1100);
  Workspace workspace(2);
  Shape alone = scene.problem.shape();
  alone.kv_heads = 1;
  alone.query_heads /= 2;
  const std::vector<Budget> budgets = sieve_budgets();
  for (std::size_t i = 0; i < 2 * budgets.size(); ++i) {
    const SieveCall whole = i % 2 == 0 ? scene.call(budgets[i / 2]) : scene.call(budgets[i / 2]).directly();
    const SieveResult both = run_attend(whole, workspace).value();
    for (std::int64_t h = 0; h < 2; ++h) {
      const auto kv = scene.problem.kv().subspan(static_cast<std::size_t>(h), 1);
      Index index({alone.dtype, 1, alone.head_dim, alone.value_dim});
      index.extend(kv, workspace);
      SieveCall call = whole;
      call.index = &index;
      call.shape = alone;
      call.kv = kv;
      call.q = scene.problem.q().middle_rows(4 * h, 4);
      const SieveResult one = run_attend(call, workspace).value();
      for (std::size_t r = 0; r < 4; ++r) {
        const std::size_t at = static_cast<std::size_t>(4 * h) + r;
        EXPECT_EQ(one.lse[r], both.lse[at]);
        EXPECT_EQ(one.certificates[r].tau, both.certificates[at].tau);
        EXPECT_EQ(one.certificates[r].bytes(), both.certificates[at].bytes());
        EXPECT_TRUE(std::equal(one.out.begin() + static_cast<std::ptrdiff_t>(r * 48),
                               one.out.begin() + static_cast<std::ptrdiff_t>(r * 48 + 48),
                               both.out.begin() + static_cast<std::ptrdiff_t>(at * 48)));
      }
    }
  }
}

TEST(SieveContract, BelowTheCrossoverItIsDense) {
  const Scene scene(1000);
  for_each_target([&](const char* target) {
    SCOPED_TRACE(target);
    Workspace workspace(2);
    for (const Budget& budget : sieve_budgets()) {
      const SieveCall call = scene.call(budget, true, 1001);
      EXPECT_TRUE(is_dense(run_attend(call, workspace).value(), run_dense(call, workspace).value()))
          << to_string(budget);
    }
  });
}

TEST(SieveContract, MoreRowsThanItReadsSparselyAreDense) {
  for (const auto& [group, queries] :
       {std::pair<std::int64_t, std::int64_t>{1, 17}, {8, 3}, {4, 5}, {17, 1}}) {
    const Scene scene(1000, group, queries);
    Workspace workspace(2);
    const Budget budget = parse_budget("topk:10");
    const SieveCall call = scene.call(budget);
    EXPECT_TRUE(is_dense(run_attend(call, workspace).value(), run_dense(call, workspace).value()));
  }
}

TEST(SieveContract, AsManyKeysAsThereAreMeansDense) {
  const Scene scene(777);
  Workspace workspace(2);
  for (const char* text : {"topk:777", "topk:100000000", "power:1,1", "power:1000,0.5"})
    for (const bool ladder : {true, false}) {
      const Budget budget = parse_budget(text);
      const SieveCall call = scene.call(budget, ladder);
      EXPECT_TRUE(is_dense(run_attend(call, workspace).value(), run_dense(call, workspace).value()))
          << text;
    }
}

TEST(SieveContract, SparseIsSparseWhereWeightsArePeaked) {
  // Otherwise every other test could pass by being dense. f32: the index is an eighth of the keys.
  const Scene scene(4096, 2, 1, Kind::peaked, DType::f32);
  Workspace workspace(1);
  for (const char* text : {"mass:0.1", "bytes:0.3", "topk:200", "power:4,0.5", "window:256,4"}) {
    const Budget budget = parse_budget(text);
    const SieveResult result = run_attend(scene.call(budget), workspace).value();
    for (const Certificate& c : result.certificates) {
      EXPECT_FALSE(c.dense) << text;
      EXPECT_LT(c.bytes(), 4096 * (64 + 48) * 4) << text;
    }
  }
}

TEST(SieveContract, AllocatesNothingOnceTheWorkspaceHasSeenTheCall) {
  const Scene scene(2000, 4, 2);
  Workspace workspace(1);
  for (const Budget& budget : sieve_budgets())
    for (const auto& [ladder, direct] :
         {std::pair{true, false}, std::pair{true, true}, std::pair{false, false}}) {
      const Shape& shape = scene.problem.shape();
      std::vector<float> out(static_cast<std::size_t>(shape.rows() * shape.value_dim));
      std::vector<float> lse(static_cast<std::size_t>(shape.rows()));
      std::vector<Certificate> certificates(lse.size());
      SieveOptions options;
      options.ladder = ladder;
      options.dense_below = 0;
      options.fewest_bytes = options.forecast = !direct;
      const auto call = [&] {
        attend(scene.index, shape, scene.problem.q(), scene.problem.kv(), {}, {&budget, 1}, options,
               workspace, {out.data(), shape.rows(), shape.value_dim}, lse, certificates);
      };
      call();
      const std::int64_t before = allocations();
      call();
      EXPECT_EQ(allocations(), before) << to_string(budget);
    }
}

TEST(SieveContract, ManyThreadsMayAttendOnOneIndex) {
  const Scene scene(1200, 3, 2);
  const std::vector<Budget> budgets = sieve_budgets();
  std::vector<SieveCall> calls;
  for (const Budget& budget : budgets) {
    calls.push_back(scene.call(budget));
    if (budget.kind == Budget::Kind::mass) calls.push_back(scene.call(budget).directly());
  }
  std::vector<SieveResult> expected;
  Workspace workspace(1);
  for (const SieveCall& call : calls) expected.push_back(run_attend(call, workspace).value());
  std::vector<int> wrong(4);
  std::vector<std::thread> threads;
  for (std::size_t t = 0; t < wrong.size(); ++t)
    threads.emplace_back([&, t] {
      Workspace own(t % 2 == 0 ? 1 : 2);
      for (std::size_t i = 0; i < calls.size(); ++i) {
        const std::size_t at = (i + t) % calls.size();
        wrong[t] += !same_bits(run_attend(calls[at], own).value(), expected[at]);
      }
    });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong, std::vector<int>(4));
}

/// The code and sentence of the error that `call` throws.
template <class Call>
std::pair<int, std::string> error_of(Call call) {
  try {
    call();
  } catch (const Error& error) {
    return {static_cast<int>(error.code()), error.what()};
  }
  return {0, "no error"};
}

TEST(SieveContract, QueriesThatAreNotFiniteAreRefusedByName) {
  const float inf = std::numeric_limits<float>::infinity();
  for_each_target([&](const char* target) {
    SCOPED_TRACE(target);
    const Scene scene(1000);
    for (const float bad : {inf, -inf, std::nanf("")})
      for (const std::int64_t row : {0, 7})
        for (const Budget& budget : sieve_budgets()) {
          std::vector<float> q(scene.problem.q().data, scene.problem.q().data + 8 * 64);
          q[static_cast<std::size_t>(row * 64 + 63)] = bad;
          std::vector<float> out(8 * 48);
          std::vector<float> lse(8);
          std::vector<Certificate> certificates(8);
          SieveOptions options;
          options.dense_below = 0;
          options.fewest_bytes = true;
          Workspace workspace(1);
          const auto [code, sentence] = error_of([&] {
            attend(scene.index, scene.problem.shape(), {q.data(), 8, 64}, scene.problem.kv(), {},
                   {&budget, 1}, options, workspace, {out.data(), 8, 48}, lse, certificates);
          });
          EXPECT_EQ(code, static_cast<int>(Code::input)) << sentence << ' ' << to_string(budget);
        }
  });
}

TEST(SieveContract, WithoutKeysThereIsNothingToWriteWeightsTo) {
  const Scene scene(0);
  const Budget budget = parse_budget("mass:0.05");
  std::vector<float> out(8 * 48, 1.0F);
  std::vector<float> lse(8);
  std::vector<Certificate> certificates(8);
  SieveOptions options;
  options.weights = {nullptr, 8, 0};
  Workspace workspace(1);
  attend(scene.index, scene.problem.shape(), scene.problem.q(), scene.problem.kv(), {}, {&budget, 1},
         options, workspace, {out.data(), 8, 48}, lse, certificates);
  EXPECT_EQ(out, std::vector<float>(8 * 48));
  EXPECT_EQ(lse[7], -std::numeric_limits<float>::infinity());
}

TEST(SieveContract, ArgumentsThatDoNotFitAreRefused) {
  const Scene scene(700);
  const Shape shape = scene.problem.shape();
  const std::vector<Budget> one{parse_budget("mass:0.05")};
  Workspace workspace(1);
  std::vector<float> out(8 * 48);
  std::vector<float> lse(8);
  std::vector<float> weights(8 * 699);
  const auto code = [&](const Index& index, const Shape& s, std::span<const KvPages> kv,
                        std::span<const Budget> budgets, std::size_t certificates,
                        SieveOptions options = {}) {
    std::vector<Certificate> room(certificates);
    return error_of([&] {
             attend(index, s, scene.problem.q(), kv, {}, budgets, options, workspace, {out.data(), 8, 48},
                    lse, room);
           })
        .first;
  };
  const int usage = static_cast<int>(Code::usage);
  const auto kv = scene.problem.kv();
  EXPECT_EQ(code(scene.index, shape, kv, one, 8), 0);
  EXPECT_EQ(code(scene.index, shape, kv, one, 7), usage);
  EXPECT_EQ(code(scene.index, shape, kv, {}, 8), usage);
  const std::vector<Budget> three(3, one[0]);
  EXPECT_EQ(code(scene.index, shape, kv, three, 8), usage);
  std::vector<Budget> kinds(8, one[0]);
  EXPECT_EQ(code(scene.index, shape, kv, kinds, 8), 0);
  kinds[2] = parse_budget("topk:5");
  EXPECT_EQ(code(scene.index, shape, kv, kinds, 8), usage);
  for (const double eps : {0.0, -1.0, 1.0, std::nan("")}) {
    std::vector<Budget> bad = one;
    bad[0].eps = eps;
    EXPECT_EQ(code(scene.index, shape, kv, bad, 8), usage) << eps;
  }
  // Indexes of other shapes, and one that knows more tokens than there are.
  const auto other = [&](auto change) {
    IndexShape s = scene.index.shape();
    change(s);
    return Index(s);
  };
  EXPECT_EQ(code(other([](IndexShape& s) { s.head_dim = 63; }), shape, kv, one, 8), usage);
  EXPECT_EQ(code(other([](IndexShape& s) { s.value_dim = 49; }), shape, kv, one, 8), usage);
  EXPECT_EQ(code(other([](IndexShape& s) { s.kv_heads = 1; }), shape, kv, one, 8), usage);
  EXPECT_EQ(code(other([](IndexShape& s) { s.dtype = DType::f16; }), shape, kv, one, 8), usage);
  EXPECT_EQ(code(scene.index, shape, without_last(kv, 300), one, 8), usage);
  SieveOptions options;
  options.weights = {weights.data(), 8, 699};
  EXPECT_EQ(code(scene.index, shape, kv, one, 8, options), usage);
}

}  // namespace
}  // namespace tamis::testing
