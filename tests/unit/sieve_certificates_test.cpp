// What certificates claim, against the oracle: every kind of numbers, shape, budget and target.
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <iostream>
#include <iterator>
#include <optional>

#include <tamis/sieve.h>

#include "kernels/kernels.h"
#include "support/certificates.h"
#include "support/sieve.h"
#include "support/targets.h"

namespace tamis::testing {
namespace {

Oracle oracle_of(const Problem& problem) {
  return {problem.shape(), problem.q(), problem.kv(), problem.seen()};
}

TEST(Sieve, TauAndErrorsAreNeverBelowTheTrueDistances) {
  Workspace workspace(1);
  const std::vector<Budget> budgets = sieve_budgets();
  std::vector<Budget> masses;
  for (const Budget& budget : budgets)
    if (budget.kind == Budget::Kind::mass) masses.push_back(budget);
  Report all, directly, wide;
  for (const SieveCase& c : sieve_cases()) {
    const Problem problem(c.attention);
    const Oracle oracle = oracle_of(problem);
    for_each_target([&](const char* target) {
      const Index index = index_of(c, problem);
      const Report report = check_budgets(oracle, call_of(index, problem, {}), budgets, workspace);
      EXPECT_EQ(report.violations, 0) << name(c) << " on " << target << ": " << text(report.examples);
      all.add(report);
      SieveCall soon = call_of(index, problem, {}).directly();
      const std::optional<DenseResult> dense = run_dense(soon, workspace);
      for (const Budget& mass : masses) {
        soon.budgets = {&mass, 1};
        const Report found = check_call(oracle, soon, dense ? &*dense : nullptr, workspace);
        EXPECT_EQ(found.violations, 0)
            << name(c) << " directly on " << target << ": " << text(found.examples);
        directly.add(found);
        if (c.attention.shape.head_dim > channels_summed) wide.add(found);
      }
    });
  }
  EXPECT_LT(directly.dense, directly.records / 2);
  EXPECT_LT(wide.dense, wide.records);
  all.add(directly);
  EXPECT_LT(all.blind, all.records / 20);  // the oracle can tell
  std::cout << all.records << " certificates, " << all.dense << " dense, " << all.blind
            << " below what the oracle resolves\n";
}

TEST(Sieve, HoldsOnEveryCaseOfDenseAttention) {
  Workspace workspace(1);
  const std::vector<Budget> budgets = sieve_budgets();
  std::int64_t number = 0;
  std::size_t next = 0;
  for (const Case& attention : attention_cases()) {
    // An index needs heads of one length; far more rows than are read sparsely only take time.
    if (attention.ragged || attention.shape.group() * attention.shape.queries > 2 * sieve_rows) continue;
    const SieveCase c{attention, number % 3 * 4, number % 2 == 0};
    const Problem problem(attention);
    const Oracle oracle = oracle_of(problem);
    // Another number of budgets for every case: each target meets each of them.
    next += static_cast<std::size_t>(number++ % 3);
    for_each_target([&](const char* target) {
      const Index index = index_of(c, problem);
      const std::span<const Budget> one = std::span(budgets).subspan(next++ % budgets.size(), 1);
      const SieveCall call = call_of(index, problem, {});
      for (const SieveCall& how : {call, call.directly()}) {
        const Report report = check_budgets(oracle, how, one, workspace);
        EXPECT_EQ(report.violations, 0) << name(c) << " on " << target << ": " << text(report.examples);
      }
    });
  }
}

TEST(Sieve, EveryHeadKeepsItsOwnBudget) {
  Case attention;
  attention.shape = {6, 2, 2, 64, 64, DType::bf16, 0.125F};
  attention.tokens = 900;
  attention.kind = Kind::peaked;
  const Problem problem(attention);
  const Oracle oracle = oracle_of(problem);
  const Index index = index_of({attention}, problem);
  Workspace workspace(1);
  for (const std::vector<const char*>& texts :
       {std::vector<const char*>{"mass:0.3", "mass:0.01", "mass:0.1", "topk:5", "topk:50", "topk:100000"},
        {"power:1,0.5", "power:2,0.5", "power:1,0.6", "window:100,4", "window:7,0", "window:300,64"}}) {
    std::vector<Budget> budgets;
    for (const char* text : texts) budgets.push_back(parse_budget(text));
    const SieveCall call = call_of(index, problem, budgets);
    const std::optional<DenseResult> dense = run_dense(call, workspace);
    for (const SieveCall& how : {call, call.directly()}) {
      const Report report = check_call(oracle, how, &*dense, workspace);
      EXPECT_EQ(report.violations, 0) << text(report.examples);
    }
  }
}

RC_GTEST_PROP(Sieve, CertificatesHoldForAnyShapeAndBudget, ()) {
  SieveCase c;
  c.attention.seed = *rc::gen::arbitrary<std::uint64_t>();
  c.attention.kind = *rc::gen::elementOf(std::vector<Kind>(all_kinds().begin(), all_kinds().end()));
  Shape& shape = c.attention.shape;
  shape.kv_heads = *rc::gen::inRange(1, 3);
  shape.query_heads = shape.kv_heads * *rc::gen::inRange(1, 9);
  shape.queries = *rc::gen::inRange(1, 5);
  shape.head_dim = *rc::gen::inRange(1, 140);
  shape.value_dim = *rc::gen::inRange(1, 140);
  shape.dtype = *rc::gen::element(DType::f32, DType::f16, DType::bf16);
  shape.scale = *rc::gen::element(1.0F, 0.125F, -0.25F, 0.0F, 4.0F);
  c.attention.tokens = *rc::gen::inRange(0, 900);
  c.attention.masked = *rc::gen::arbitrary<bool>();
  c.attention.hidden = *rc::gen::inRange<std::int64_t>(0, c.attention.tokens + 1);
  c.attention.padded_rows = *rc::gen::arbitrary<bool>();
  c.sinks = *rc::gen::inRange(0, 129);
  c.values = *rc::gen::arbitrary<bool>();
  c.lag = *rc::gen::element(0, 0, 1, 200);
  Budget budget;
  budget.kind = *rc::gen::element(Budget::Kind::mass, Budget::Kind::bytes, Budget::Kind::topk,
                                  Budget::Kind::power, Budget::Kind::window);
  budget.eps = *rc::gen::element(0.9, 0.2, 0.02, 1e-5, 1e-9);
  budget.share = *rc::gen::element(0.01, 0.15, 0.3, 0.7, 1.0);
  budget.k = *rc::gen::inRange(1, 1000);
  budget.exponent = *rc::gen::element(0.0, 0.5, 0.9, 1.0);
  budget.window = *rc::gen::inRange(1, 1000);
  budget.sinks = *rc::gen::inRange(0, 300);
  const Problem problem(c.attention);
  const Index index = index_of(c, problem);
  Workspace workspace(1);
  SieveCall call = call_of(index, problem, {});
  if (*rc::gen::arbitrary<bool>()) call = call.directly();
  const Report report = check_budgets(oracle_of(problem), call, std::span(&budget, 1), workspace);
  if (report.violations > 0) RC_FAIL(name(c) + ": " + text(report.examples));
}

}  // namespace
}  // namespace tamis::testing
