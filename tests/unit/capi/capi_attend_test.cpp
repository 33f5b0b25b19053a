// Sparse attention through the C ABI: the same bits and certificates as from the C++ functions,
// and error codes and messages for invalid arguments.
#include <gtest/gtest.h>
#include <tamis/tamis.h>

#include <cmath>
#include <cstring>
#include <functional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <tamis/attend.h>

#include "support/allocations.h"
#include "unit/capi/capi_cache_problem.h"

namespace tamis_c {
namespace {

/// The answer of tamis::attend to the same question.
struct Answer {
  Result result{std::vector<float>(AttendProblem::rows * AttendProblem::value_dim),
                std::vector<float>(AttendProblem::rows)};
  std::vector<tamis::Certificate> certificates =
      std::vector<tamis::Certificate>(AttendProblem::rows);
};

Answer by_cpp(const AttendProblem& p, const std::vector<tamis::Budget>& budgets,
              const tamis::AttendOptions& options) {
  tamis::CacheOptions cache_options;
  cache_options.dtype = tamis::DType::f32;
  tamis::Cache cache({p.heads_count, p.kv_heads, p.dim, p.value_dim, 0.2F}, cache_options);
  tamis::Workspace workspace(1);
  const auto rows = [&](const std::vector<float>& x, std::int64_t d) {
    return tamis::Rows{x.data(), tamis::DType::f32, d, p.tokens * d, 1, 0};
  };
  cache.add(7);
  cache.append(std::vector<tamis::Sequence>{7}, std::vector<std::int64_t>{p.tokens},
               rows(p.k, p.dim), rows(p.v, p.value_dim), workspace);
  cache.fork(7, p.fewer, 9);
  const std::vector<tamis::Sequence> sequences{7, 9};
  const tamis::Plan plan(cache, {sequences, p.counts, {}});
  Answer answer;
  tamis::attend(
      cache, plan, {p.q.data(), tamis::DType::f32, p.heads_count * p.dim, p.dim}, budgets, options,
      workspace,
      {{answer.result.out.data(), tamis::DType::f32, p.heads_count * p.value_dim, p.value_dim},
       answer.result.lse,
       answer.certificates});
  return answer;
}

void expect_same(const AttendProblem& p, const Answer& answer) {
  EXPECT_EQ((Result{p.out, p.lse}), answer.result);
  for (std::size_t r = 0; r < answer.certificates.size(); ++r) {
    const tamis_certificate& c = p.certificates[r];
    const tamis::Certificate& cpp = answer.certificates[r];
    EXPECT_EQ(c.tau, cpp.tau);
    EXPECT_EQ(c.error, cpp.error);
    EXPECT_EQ(c.lse_error, cpp.lse_error);
    EXPECT_EQ(c.reached, static_cast<tamis_reached>(cpp.reached));
    EXPECT_EQ(c.dense, static_cast<tamis_why_dense>(cpp.dense));
    EXPECT_EQ(c.grade, TAMIS_PROVED);
    EXPECT_EQ(c.reserved, 0);
    EXPECT_EQ(c.raw_keys, cpp.raw_keys);
    EXPECT_EQ(c.raw_values, cpp.raw_values);
    EXPECT_EQ(c.centre_values, cpp.centre_values);
    for (std::size_t level = 0; level < 4; ++level) {
      EXPECT_EQ(c.keys[level], cpp.keys[level]);
      EXPECT_EQ(c.values[level], cpp.values[level]);
    }
    EXPECT_EQ(c.bytes, cpp.bytes);
    EXPECT_EQ(c.dense_bytes, cpp.dense_bytes);
  }
}

TEST(CApiAttend, GivesTheBitsAndCertificatesOfTheCppFunction) {
  AttendProblem p;
  for (const char* text : {"mass:0.05", "bytes:0.4", "topk:64", "power:2,0.5", "window:256,4"}) {
    SCOPED_TRACE(text);
    p.use(text);
    ASSERT_EQ(p.attend(), TAMIS_OK) << tamis_last_error();
    expect_same(p, by_cpp(p, {tamis::parse_budget(text)}, {}));
  }
  EXPECT_GT(p.certificates[0].dense_bytes, 0);
}

TEST(CApiAttend, EveryQueryHeadMayHaveItsBudget) {
  AttendProblem p;
  std::vector<tamis::Budget> budgets;
  for (const char* text : {"mass:0.5", "mass:0.05", "topk:8", "topk:900"}) {
    budgets.push_back(tamis::parse_budget(text));
    p.budgets.resize(budgets.size());
    ASSERT_EQ(tamis_budget_parse(text, &p.budgets.back()), TAMIS_OK);
  }
  ASSERT_EQ(p.attend(), TAMIS_OK) << tamis_last_error();
  expect_same(p, by_cpp(p, budgets, {}));
}

TEST(CApiAttend, OptionsAreThoseOfTheCppFunctionAndNoneMeansTheDefaults) {
  AttendProblem p;
  const Answer plain = by_cpp(p, {tamis::Budget{}}, {});
  ASSERT_EQ(tamis_attend(p.cache, p.plan, &p.query_rows, p.budgets.data(), 1, nullptr, p.workspace,
                         &p.results),
            TAMIS_OK)
      << tamis_last_error();
  expect_same(p, plain);

  p.options = {sizeof(tamis_attend_options), TAMIS_PREFER_BYTES, 2, 2000, 0.8};
  tamis::AttendOptions options;
  options.look = 2;
  options.dense_below = 2000;
  options.value_share = 0.8;
  ASSERT_EQ(p.attend(), TAMIS_OK) << tamis_last_error();
  expect_same(p, by_cpp(p, {tamis::Budget{}}, options));
  EXPECT_EQ(p.certificates.back().dense, TAMIS_SHORT_SEQUENCE);  // sequence 9 is shorter than 2000
}

TEST(CApiAttend, CertificatesOfLongerCallersAreFilledWithZerosAndNoneAreWrittenWhereNoneAreWanted) {
  AttendProblem p;
  ASSERT_EQ(p.attend(), TAMIS_OK) << tamis_last_error();
  struct Newer {
    tamis_certificate certificate;
    std::int64_t field;
  };
  std::vector<Newer> newer(p.rows, Newer{{}, -1});
  p.results.certificates = &newer[0].certificate;
  p.results.certificate_size = sizeof(Newer);
  ASSERT_EQ(p.attend(), TAMIS_OK) << tamis_last_error();
  for (std::size_t r = 0; r < newer.size(); ++r) {
    EXPECT_EQ(std::memcmp(&newer[r].certificate, &p.certificates[r], sizeof(tamis_certificate)), 0);
    EXPECT_EQ(newer[r].field, 0);
  }
  p.results.certificate_size = sizeof(tamis_certificate) - 8;
  expect_usage(p.attend(), "sizeof(tamis_certificate)");
  const Result before{p.out, p.lse};
  p.out.assign(p.out.size(), 0);
  p.results.certificates = nullptr;
  p.results.certificate_size = 0;
  ASSERT_EQ(p.attend(), TAMIS_OK) << tamis_last_error();
  EXPECT_EQ((Result{p.out, p.lse}), before);
}

TEST(CApiAttend, ARowThatIsNotFiniteFailsItselfAndNoOther) {
  AttendProblem p;
  ASSERT_EQ(p.attend(), TAMIS_OK) << tamis_last_error();
  const Result before{p.out, p.lse};
  p.q[0] = std::numeric_limits<float>::infinity();  // query 0 of head 0
  ASSERT_EQ(p.attend(), TAMIS_OK) << tamis_last_error();
  EXPECT_EQ(p.certificates[0].reached, TAMIS_NOT_FINITE);
  EXPECT_TRUE(std::isnan(p.out[0]));
  // The rows of other KV heads and sequences keep their bits.
  for (std::size_t row = 2; row < static_cast<std::size_t>(p.rows); ++row)
    EXPECT_EQ(p.lse[row], before.lse[row]) << "row " << row;
}

TEST(CApiAttend, AllocatesNothingOnceTheWorkspaceHasSeenTheCall) {
  AttendProblem p;
  ASSERT_EQ(p.attend(), TAMIS_OK) << tamis_last_error();
  const std::int64_t before = tamis::test::allocations();
  ASSERT_EQ(p.attend(), TAMIS_OK);
  EXPECT_EQ(tamis::test::allocations(), before);
}

TEST(CApiAttend, OneCacheServesManyThreads) {
  AttendProblem p;
  ASSERT_EQ(p.attend(), TAMIS_OK) << tamis_last_error();
  std::vector<int> equal(4, 0);
  std::vector<std::thread> threads;
  for (std::size_t t = 0; t < equal.size(); ++t)
    threads.emplace_back([&, t] {
      Workspace workspace;
      std::vector<float> out(p.out.size());
      std::vector<float> lse(p.lse.size());
      tamis_results results = p.results;
      results.out = out.data();
      results.lse = lse.data();
      results.certificates = nullptr;
      if (tamis_workspace_create(1, &workspace) != TAMIS_OK) return;
      for (int repeat = 0; repeat < 10; ++repeat)
        if (tamis_attend(p.cache, p.plan, &p.query_rows, p.budgets.data(), 1, &p.options, workspace,
                         &results) == TAMIS_OK &&
            out == p.out && lse == p.lse)
          ++equal[t];
    });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(equal, std::vector<int>(4, 10));
}

TEST(CApiAttend, ResultsAndReasonsHaveWords) {
  const char* words = nullptr;
  for (tamis_reached reached = TAMIS_MET; reached <= TAMIS_NOT_FINITE; ++reached) {
    ASSERT_EQ(tamis_reached_words(reached, &words), TAMIS_OK);
    EXPECT_STREQ(words, tamis::words_for(static_cast<tamis::Reached>(reached)));
  }
  for (tamis_why_dense dense = TAMIS_SPARSE; dense <= TAMIS_WIDE; ++dense) {
    ASSERT_EQ(tamis_dense_words(dense, &words), TAMIS_OK);
    EXPECT_STREQ(words, tamis::words_for(static_cast<tamis::Dense>(dense)));
  }
  expect_usage(tamis_reached_words(TAMIS_NOT_FINITE + 1, &words), "4");
  expect_usage(tamis_reached_words(-1, &words), "-1");
  expect_usage(tamis_dense_words(TAMIS_WIDE + 1, &words), "4");
  expect_usage(tamis_reached_words(TAMIS_MET, nullptr), "words is null");
  expect_usage(tamis_dense_words(TAMIS_SPARSE, nullptr), "words is null");
}

TEST(CApiAttend, BatchesThatMakeNoSenseGiveUsage) {
  AttendProblem p;
  std::int64_t queries = 0;
  ASSERT_EQ(tamis_plan_queries(p.plan, &queries), TAMIS_OK);
  EXPECT_EQ(queries, 3);
  std::vector<std::int64_t> seen{2500, 1300, 1300};
  const std::vector<tamis_sequence> unknown{7, 8};
  const std::vector<std::pair<std::function<void(tamis_batch&)>, const char*>> breaks{
      {[](auto& b) { b.size = 0; }, "sizeof(tamis_batch)"},
      {[](auto& b) { b.count = SIZE_MAX; }, "elements"},
      {[](auto& b) { b.sequences = nullptr; }, "sequences"},
      {[](auto& b) { b.queries = nullptr; }, "queries"},
      {[&](auto& b) { b.sequences = unknown.data(); }, "8"},
      {[&](auto&) { p.counts[1] = -2; }, "-2"},
      {[&](auto&) { p.counts[1] = huge; }, "memory"},
      {[&](auto&) { p.counts[1] = p.fewer + 2; }, "sees"},
      {[&](auto& b) {
         seen[2] = 1301;
         b.seen = seen.data();
       },
       "1301"},
  };
  for (const auto& [spoil, part] : breaks) {
    p.counts = {1, 2};
    tamis_batch batch = p.batch;
    spoil(batch);
    Plan plan;
    plan.handle = reinterpret_cast<tamis_plan*>(&plan);  // must be overwritten
    expect_usage(tamis_plan_create(p.cache, &batch, &plan), part);
    EXPECT_EQ(plan.handle, nullptr);
  }
}

TEST(CApiAttend, ArgumentsThatDoNotFitTogetherGiveUsage) {
  AttendProblem p;
  const std::vector<std::pair<std::function<void(AttendProblem&)>, const char*>> breaks{
      {[](auto& x) { x.query_rows.size = 1; }, "sizeof(tamis_queries)"},
      {[](auto& x) { x.query_rows.reserved = 1; }, "reserved"},
      {[](auto& x) { x.query_rows.data = nullptr; }, "null"},
      {[](auto& x) { x.query_rows.dtype = TAMIS_I32; }, "i32"},
      {[](auto& x) { x.options.size = 8; }, "sizeof(tamis_attend_options)"},
      {[](auto& x) { x.options.prefer = 2; }, "prefer"},
      {[](auto& x) { x.options.look = 3; }, "look"},
      {[](auto& x) { x.options.dense_below = -1; }, "dense_below"},
      {[](auto& x) { x.options.value_share = -1; }, "value_share"},
      {[](auto& x) { x.results.size = 8; }, "sizeof(tamis_results)"},
      {[](auto& x) { x.results.reserved = 1; }, "reserved"},
      {[](auto& x) { x.results.out = nullptr; }, "null"},
      {[](auto& x) { x.results.lse = nullptr; }, "lse is null"},
      {[](auto& x) { x.results.dtype = TAMIS_F64; }, "f64"},
      {[](auto& x) { x.budgets[0].kind = -1; }, "kind"},
      {[](auto& x) { x.budgets[0].kind = TAMIS_WINDOW + 1; }, "kind"},
      {[](auto& x) { x.budgets[0].reserved = 1; }, "reserved"},
      {[](auto& x) { x.budgets[0].eps = 1; }, "EPS"},
      {[](auto& x) { x.budgets[0].eps = std::nan(""); }, "EPS"},
      {[](auto& x) { x.budgets[0].kind = TAMIS_TOPK; }, "K is '0'"},
      {[](auto& x) { x.budgets.resize(3, x.budgets[0]); }, "budget"},
      {[](auto& x) { x.budgets.clear(); }, "budget"},
      {[](auto& x) { EXPECT_EQ(tamis_cache_truncate(x.cache, 7, 2000), TAMIS_OK); }, "plan"},
  };
  for (const auto& [spoil, part] : breaks) {
    const auto queries = p.query_rows;
    const auto options = p.options;
    const auto results = p.results;
    p.use("mass:0.05");
    spoil(p);
    expect_usage(p.attend(), part);
    p.query_rows = queries;
    p.options = options;
    p.results = results;
  }
}

TEST(CApiAttend, NullPointersGiveUsage) {
  AttendProblem p;
  Plan plan;
  const auto attend = [&](const tamis_cache* cache, const tamis_plan* of,
                          const tamis_queries* queries, const tamis_budget* budgets,
                          tamis_workspace* workspace, const tamis_results* results) {
    return tamis_attend(cache, of, queries, budgets, 1, nullptr, workspace, results);
  };
  const tamis_budget* budgets = p.budgets.data();
  const std::vector<tamis_code> codes{
      tamis_plan_create(nullptr, &p.batch, &plan),
      tamis_plan_create(p.cache, nullptr, &plan),
      tamis_plan_create(p.cache, &p.batch, nullptr),
      tamis_plan_queries(nullptr, nullptr),
      tamis_plan_queries(p.plan, nullptr),
      attend(nullptr, p.plan, &p.query_rows, budgets, p.workspace, &p.results),
      attend(p.cache, nullptr, &p.query_rows, budgets, p.workspace, &p.results),
      attend(p.cache, p.plan, nullptr, budgets, p.workspace, &p.results),
      attend(p.cache, p.plan, &p.query_rows, nullptr, p.workspace, &p.results),
      attend(p.cache, p.plan, &p.query_rows, budgets, nullptr, &p.results),
      attend(p.cache, p.plan, &p.query_rows, budgets, p.workspace, nullptr),
      tamis_attend(p.cache, p.plan, &p.query_rows, budgets, SIZE_MAX, nullptr, p.workspace,
                   &p.results),
  };
  for (std::size_t i = 0; i < codes.size(); ++i) EXPECT_EQ(codes[i], TAMIS_USAGE) << "call " << i;
  tamis_plan_free(nullptr);
}

}  // namespace
}  // namespace tamis_c
