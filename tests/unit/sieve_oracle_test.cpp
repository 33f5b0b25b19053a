// The checker itself: the oracle is as exact as it says, and no false certificate passes.
#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <limits>

#include "support/certificates.h"

namespace tamis::testing {
namespace {

TEST(SieveOracle, AgreesWithTheReferenceWithinItsSlack) {
  for (const Case& c : attention_cases()) {
    if (c.shape.rows() > 20 || c.tokens == 0) continue;
    const Problem problem(c);
    const Oracle oracle(problem.shape(), problem.q(), problem.kv(), problem.seen());
    const Answer reference = reference_answer(problem);
    for (std::int64_t r = 0; r < oracle.rows(); ++r) {
      const ExactRow& row = oracle[r];
      if (row.weights.empty()) continue;
      // The reference sums d products in f64 and not in long double: its logits, and with them its
      // weights, are 2¹¹ times less exact, and so is what it makes of them.
      double squares = 0;
      for (std::size_t i = 0; i < row.out.size(); ++i)
        squares +=
            std::pow(row.out[i] - reference.out[static_cast<std::size_t>(r) * row.out.size() + i], 2);
      ASSERT_LE(std::sqrt(squares), 4096 * row.error_slack) << name(c) << " row " << r;
      const auto lse = static_cast<double>(row.lse) - reference.lse[static_cast<std::size_t>(r)];
      ASSERT_LE(std::abs(lse), 4096 * row.lse_slack) << name(c) << " row " << r;
      ASSERT_LT(row.tau_slack, 1e-9) << name(c) << " row " << r;
    }
  }
}

/// A call with a true certificate: a window, computed here in f64, with its distances to the oracle.
struct Honest {
  Honest() {
    attention.shape = {2, 1, 1, 16, 8, DType::f32, 0.25F};
    attention.tokens = 300;
    problem.emplace(attention);
    index.emplace(index_of({attention}, *problem));
    oracle.emplace(problem->shape(), problem->q(), problem->kv(), problem->seen());
    call = call_of(*index, *problem, budgets);
    call.ladder = false;
    const KvPages& kv = problem->kv()[0];
    result.keys = attention.tokens;
    result.weights.resize(600);
    for (std::int64_t r = 0; r < 2; ++r) {
      const ExactRow& exact = (*oracle)[r];
      double kept = 0;
      for (std::size_t j = 200; j < 300; ++j) kept += exact.weights[j];
      std::vector<double> o(8);
      for (std::size_t j = 200; j < 300; ++j) {
        result.weights[static_cast<std::size_t>(r) * 300 + j] = static_cast<float>(exact.weights[j] * 7);
        const auto* v =
            static_cast<const float*>(kv.v[j / 128]) + static_cast<std::int64_t>(j % 128) * kv.v_stride;
        for (std::size_t c = 0; c < 8; ++c) o[c] += exact.weights[j] / kept * v[c];
      }
      for (const double x : o) result.out.push_back(static_cast<float>(x));
      result.lse.push_back(static_cast<float>(exact.lse + std::log(kept)));
      Certificate c;
      c.tau =
          total_variation(std::span(result.weights).subspan(static_cast<std::size_t>(r) * 300, 300), exact);
      c.error =
          distance(std::span(result.out).subspan(static_cast<std::size_t>(r) * 8, 8), exact) * (1 + 1e-9);
      c.lse_error = std::abs(static_cast<double>(result.lse.back() - exact.lse)) * (1 + 1e-9);
      c.exact_keys = c.exact_values = 300;
      c.exact_bytes = 300 * (16 + 8) * 4;
      result.certificates.push_back(c);
    }
  }
  std::int64_t violations() const { return check_certificates(*oracle, call, result, &dense).violations; }

  Case attention;
  std::optional<Problem> problem;
  std::optional<Index> index;
  std::optional<Oracle> oracle;
  Budget budgets[1] = {parse_budget("window:100,0")};
  SieveCall call;
  SieveResult result;
  DenseResult dense{std::vector<float>(16), std::vector<float>(2)};
};

TEST(SieveOracle, AcceptsATrueCertificate) { EXPECT_EQ(Honest().violations(), 0); }

TEST(SieveOracle, RefusesEveryFalseOne) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const std::vector<std::pair<const char*, std::function<void(Honest&)>>> lies = {
      {"tau a millionth too small", [](Honest& h) { h.result.certificates[0].tau *= 1 - 1e-6; }},
      {"an error a millionth too small", [](Honest& h) { h.result.certificates[1].error *= 1 - 1e-6; }},
      {"an lse error a millionth too small",
       [](Honest& h) { h.result.certificates[0].lse_error *= 1 - 1e-6; }},
      {"a bound that is NaN", [&](Honest& h) { h.result.certificates[0].tau = nan; }},
      {"an error that is NaN", [&](Honest& h) { h.result.certificates[0].error = nan; }},
      {"a negative bound", [](Honest& h) { h.result.certificates[0].lse_error = -1; }},
      {"an output that is NaN", [&](Honest& h) { h.result.out[3] = nan; }},
      {"an output that is infinite",
       [](Honest& h) {
         h.result.out[3] = std::numeric_limits<float>::infinity();
         h.result.certificates[0].error = std::numeric_limits<double>::infinity();
       }},
      {"an lse that is NaN", [&](Honest& h) { h.result.lse[1] = nan; }},
      {"a weight that is NaN", [&](Honest& h) { h.result.weights[250] = nan; }},
      {"a negative weight", [](Honest& h) { h.result.weights[250] = -h.result.weights[250]; }},
      {"no weights", [](Honest& h) { std::fill(h.result.weights.begin(), h.result.weights.end(), 0.0F); }},
      {"a weight outside of the window", [](Honest& h) { h.result.weights[199] = 1e-30F; }},
      {"dense without its bits", [](Honest& h) { h.result.certificates[0].dense = true; }},
      {"a key too many", [](Honest& h) { h.result.certificates[0].coarse_keys = 1; }},
      {"more values than keys", [](Honest& h) { h.result.certificates[0].middle_values = 1; }},
      {"a byte too few", [](Honest& h) { h.result.certificates[0].exact_bytes -= 1; }},
      {"more bytes than the index has",
       [](Honest& h) {
         for (Certificate& c : h.result.certificates)
           c.coarse_bytes = static_cast<std::int64_t>(h.index->bytes()) + 1;
       }},
      {"rows of one head that count differently",
       [](Honest& h) {
         h.result.certificates[0].exact_values = 299;
         h.result.certificates[0].exact_bytes -= 8 * 4;
       }},
      {"dropped keys with weight",
       [](Honest& h) {
         for (Certificate& c : h.result.certificates) {
           c.exact_keys = 99;
           c.coarse_keys = 201;
           c.exact_bytes = (99 * 16 + 300 * 8) * 4;
           c.coarse_bytes = 201 * 8;
         }
       }},
      {"a mass above its tolerance", [](Honest& h) { h.budgets[0] = parse_budget("mass:0.001"); }},
      {"more bytes than allowed", [](Honest& h) { h.budgets[0] = parse_budget("bytes:0.1"); }},
      {"more keys than asked for", [](Honest& h) { h.budgets[0] = parse_budget("topk:1"); }},
      {"all keys asked for and not dense", [](Honest& h) { h.budgets[0] = parse_budget("topk:300"); }},
  };
  for (const auto& [what, tell] : lies) {
    Honest honest;
    tell(honest);
    EXPECT_GT(honest.violations(), 0) << what;
  }
}

}  // namespace
}  // namespace tamis::testing
