// Witnesses through the C ABI: made from arrays, verified, found, written and read.
#include <gtest/gtest.h>
#include <tamis/tamis.h>

#include <cmath>
#include <cstring>
#include <filesystem>
#include <limits>
#include <string>
#include <vector>

#include <tamis/lab/realise.h>

#include "support/io_files.h"
#include "unit/capi/capi_support.h"

namespace tamis_c {
namespace {

using tamis::test::Folder;

constexpr std::int64_t n = 12;

/// A cyclic pattern: row i has 1 in column i and 2 in column i + 1, modulo n.
struct Cycle {
  std::vector<std::int64_t> starts{0}, columns;
  std::vector<double> values;
  Pattern pattern;
  Cycle() {
    for (std::int64_t i = 0; i < n; ++i) {
      const bool last = i + 1 == n;
      columns.insert(columns.end(), {last ? 0 : i, last ? i : i + 1});
      values.insert(values.end(), {last ? 2.0 : 1.0, last ? 1.0 : 2.0});
      starts.push_back(std::ssize(columns));
    }
    const tamis_pattern_view view{
        sizeof(tamis_pattern_view), n, n, starts.data(), columns.data(), values.data()};
    EXPECT_EQ(tamis_pattern_create(&view, &pattern), TAMIS_OK) << tamis_last_error();
  }
};

/// A witness with q = L and k = I, where the logits L are 3 + log A where A is not zero
/// and 0 elsewhere.
struct Planted {
  std::vector<double> q, k;
  std::vector<std::int64_t> shape{n, n};
  explicit Planted(const Cycle& cycle) : q(n * n), k(n * n) {
    for (std::int64_t i = 0; i < n; ++i) {
      k[i * n + i] = 1;
      for (std::int64_t t = cycle.starts[i]; t < cycle.starts[i + 1]; ++t)
        q[i * n + cycle.columns[t]] = 3 + std::log(cycle.values[t]);
    }
  }
  [[nodiscard]] std::vector<tamis_array> arrays() const {
    return {{"q", shape.data(), q.data(), 2, TAMIS_F64},
            {"k", shape.data(), k.data(), 2, TAMIS_F64}};
  }
};

tamis_verification no_verification() {
  tamis_verification result{};
  result.size = sizeof result;
  return result;
}

tamis_realise_options options_with(std::int64_t dim, tamis_method method = TAMIS_AUTO) {
  tamis_realise_options options{};
  options.size = sizeof options;
  options.dim = dim;
  options.steps = 300;
  options.method = method;
  return options;
}

std::vector<std::byte> bytes_of(const tamis_witness* witness, const char* name) {
  tamis_array array{};
  EXPECT_EQ(tamis_witness_get(witness, name, &array), TAMIS_OK) << tamis_last_error();
  if (array.data == nullptr) return {};
  EXPECT_EQ(array.rank, 2);
  const std::int64_t count = array.shape[0] * array.shape[1] * (array.dtype == TAMIS_F64 ? 8 : 4);
  const auto* begin = static_cast<const std::byte*>(array.data);
  return {begin, begin + count};
}

TEST(CApiRealise, VerificationSaysWhatHoldsAndByHowMuch) {
  const Cycle cycle;
  Planted planted(cycle);
  Witness good;
  ASSERT_EQ(tamis_witness_create(planted.arrays().data(), 2, nullptr, &good), TAMIS_OK)
      << tamis_last_error();
  tamis_verification found = no_verification();
  ASSERT_EQ(tamis_verify(cycle.pattern, good, nullptr, 2, nullptr, nullptr, &found), TAMIS_OK)
      << tamis_last_error();
  for (const tamis_checked& checked : {found.f32, found.f64, found.exact}) {
    EXPECT_EQ(checked.holds, 1);
    EXPECT_EQ(checked.failing_rows, 0);
    EXPECT_NEAR(checked.margin, 3 + std::log(0.1), 1e-6);  // (23): the smaller nonzero has logit 3
  }
  EXPECT_NEAR(found.norm_product, std::hypot(3, 3 + std::log(2.0)), 1e-14);
  EXPECT_DOUBLE_EQ(found.max_logit, 3 + std::log(2.0));

  planted.q[5 * n + 9] = 1;
  Witness bad;
  ASSERT_EQ(tamis_witness_create(planted.arrays().data(), 2, nullptr, &bad), TAMIS_OK);
  ASSERT_EQ(tamis_verify(cycle.pattern, bad, nullptr, 0, nullptr, nullptr, &found), TAMIS_OK);
  EXPECT_EQ(found.exact.holds, 0);
  EXPECT_EQ(found.exact.failing_rows, 1);
  EXPECT_EQ(found.exact.worst_row, 5);
  EXPECT_NEAR(found.exact.margin, 2 + std::log(0.1), 1e-9);
  tamis_conditions weak{};  // eps1 and eps2 are not used then
  weak.size = sizeof weak;
  weak.weak = 1;
  ASSERT_EQ(tamis_verify(cycle.pattern, bad, &weak, 0, nullptr, nullptr, &found), TAMIS_OK);
  EXPECT_EQ(found.exact.holds, 1);
  EXPECT_NEAR(found.exact.margin, 2, 1e-9);
}

TEST(CApiRealise, WhatAWitnessClaimsIsToldAndNotBelieved) {
  const Cycle cycle;
  Planted planted(cycle);
  planted.q[5 * n + 9] = 1;  // right under weak conditions only
  tamis_conditions weak{};
  weak.size = sizeof weak;
  weak.weak = 1;
  Witness witness;
  ASSERT_EQ(tamis_witness_create(planted.arrays().data(), 2, &weak, &witness), TAMIS_OK);
  tamis_verification found = no_verification();
  ASSERT_EQ(tamis_verify(cycle.pattern, witness, nullptr, 0, nullptr, nullptr, &found), TAMIS_OK);
  EXPECT_EQ(found.exact.holds, 0);
  EXPECT_NEAR(found.exact.margin, 2 + std::log(0.1), 1e-9);
  tamis_conditions claimed{};
  claimed.size = sizeof claimed;
  ASSERT_EQ(tamis_witness_conditions(witness, &claimed), TAMIS_OK);
  EXPECT_EQ(claimed.weak, 1);
  ASSERT_EQ(tamis_verify(cycle.pattern, witness, &claimed, 0, nullptr, nullptr, &found), TAMIS_OK);
  EXPECT_EQ(found.exact.holds, 1);
}

TEST(CApiRealise, WhatIsFoundIsVerifiedAndComesBackFromItsFile) {
  const Cycle cycle;
  const Folder folder;
  const std::string path = folder / "w.safetensors";
  for (const tamis_method method : {TAMIS_AUTO, TAMIS_JL, TAMIS_MOMENT, TAMIS_DESCENT}) {
    const tamis_realise_options options = options_with(method == TAMIS_JL ? n : 4, method);
    Witness witness;
    tamis_realisation result{};
    result.size = sizeof result;
    tamis_verification verification = no_verification();
    ASSERT_EQ(tamis_realise(cycle.pattern, nullptr, &options, nullptr, nullptr, &witness, &result,
                            &verification),
              TAMIS_OK)
        << tamis_last_error();
    ASSERT_NE(witness.handle, nullptr) << method;
    EXPECT_EQ(result.dim, options.dim);
    EXPECT_GE(result.attempts, 1);
    EXPECT_EQ(result.redraws > 0, method == TAMIS_JL);
    EXPECT_NE(result.method, TAMIS_AUTO);
    if (method != TAMIS_AUTO) {
      EXPECT_EQ(result.method, method);
    }
    EXPECT_EQ(verification.exact.holds, 1);

    ASSERT_EQ(tamis_witness_write(path.c_str(), witness), TAMIS_OK) << tamis_last_error();
    Witness again;
    ASSERT_EQ(tamis_witness_read(path.c_str(), &again), TAMIS_OK) << tamis_last_error();
    EXPECT_EQ(bytes_of(again, "q"), bytes_of(witness, "q"));
    EXPECT_EQ(bytes_of(again, "k"), bytes_of(witness, "k"));
    EXPECT_TRUE(bytes_of(again, "x").empty());
    const char* name = nullptr;
    ASSERT_EQ(tamis_witness_metadata(again, "method", &name), TAMIS_OK);
    EXPECT_STREQ(name, tamis::lab::name_of(static_cast<tamis::lab::Method>(result.method)));
    tamis_verification checked = no_verification();
    ASSERT_EQ(tamis_verify(cycle.pattern, again, nullptr, 0, nullptr, nullptr, &checked), TAMIS_OK);
    EXPECT_EQ(checked.exact.margin, verification.exact.margin);
    EXPECT_EQ(checked.norm_product, verification.norm_product);
    EXPECT_EQ(checked.max_logit, verification.max_logit);
  }
}

TEST(CApiRealise, IsTheCppFunctionOfTheSameName) {
  const Cycle cycle;
  tamis_realise_options options = options_with(n - 2, TAMIS_JL);
  options.hidden = 3 * n;
  options.seed = 5;
  options.redraws = 1000;
  const tamis_conditions conditions{sizeof(tamis_conditions), 0.5, 2, 0, 0};
  Witness witness;
  ASSERT_EQ(tamis_realise(cycle.pattern, &conditions, &options, nullptr, nullptr, &witness, nullptr,
                          nullptr),
            TAMIS_OK)
      << tamis_last_error();
  tamis::lab::Pattern pattern;
  pattern.rows = pattern.cols = n;
  pattern.row_start = cycle.starts;
  pattern.column = cycle.columns;
  pattern.value = cycle.values;
  tamis::lab::RealiseOptions wanted;
  wanted.method = tamis::lab::Method::jl;
  wanted.conditions.eps1 = 0.5;
  wanted.conditions.eps2 = 2;
  wanted.dim = n - 2;
  wanted.hidden = 3 * n;
  wanted.redraws = 1000;
  wanted.seed = 5;
  const tamis::lab::Realisation expected = tamis::lab::realise(pattern, wanted);
  ASSERT_TRUE(expected.witness);
  const auto same = [&](const char* name, const tamis::lab::Tensor& tensor) {
    const std::span<const std::byte> bytes = tensor.bytes();
    EXPECT_EQ(bytes_of(witness, name), std::vector<std::byte>(bytes.begin(), bytes.end())) << name;
  };
  same("q", expected.witness->q);
  same("k", expected.witness->k);
  same("x", expected.witness->x);
  same("w_q", expected.witness->w_q);
  same("w_k", expected.witness->w_k);
  tamis_conditions made_for{};
  made_for.size = sizeof made_for;
  ASSERT_EQ(tamis_witness_conditions(witness, &made_for), TAMIS_OK);
  EXPECT_EQ(made_for.eps1, 0.5);
  EXPECT_EQ(made_for.eps2, 2);
  double paper = 0;
  double lower = 0;
  ASSERT_EQ(tamis_norm_bounds(cycle.pattern, &conditions, &paper, &lower), TAMIS_OK);
  EXPECT_EQ(paper, tamis::lab::paper_norm(pattern, wanted.conditions));
  EXPECT_EQ(lower, tamis::lab::norm_lower_bound(pattern, wanted.conditions));
  EXPECT_GT(lower, 0);
}

TEST(CApiRealise, NothingFoundIsNotAnError) {
  const Cycle cycle;
  tamis_realise_options options =
      options_with(1, TAMIS_DESCENT);  // one dimension allows only one order of the keys
  Witness witness;
  tamis_realisation result{};
  result.size = sizeof result;
  tamis_verification verification = no_verification();
  ASSERT_EQ(tamis_realise(cycle.pattern, nullptr, &options, nullptr, nullptr, &witness, &result,
                          &verification),
            TAMIS_OK)
      << tamis_last_error();
  EXPECT_EQ(witness.handle, nullptr);
  EXPECT_EQ(result.dim, 0);
  EXPECT_GE(result.attempts, 1);
  EXPECT_EQ(verification.exact.holds, 0);
  EXPECT_EQ(verification.norm_product, 0);
}

TEST(CApiRealise, ProgressIsToldAndMayStop) {
  const Cycle cycle;
  struct Told {
    int calls = 0;
    int stop_at = 0;
    double last = 0;
  };
  const tamis_progress tell = [](void* context, double done, double total) {
    auto& told = *static_cast<Told*>(context);
    EXPECT_GE(done, told.last);
    EXPECT_LE(done, total);
    told.last = done;
    return ++told.calls == told.stop_at ? 0 : 1;
  };
  const tamis_realise_options options = options_with(4, TAMIS_DESCENT);
  Told all;
  Witness witness;
  ASSERT_EQ(tamis_realise(cycle.pattern, nullptr, &options, tell, &all, &witness, nullptr, nullptr),
            TAMIS_OK);
  EXPECT_GT(all.calls, 3);
  Told some;
  some.stop_at = 3;
  Witness none;
  EXPECT_EQ(tamis_realise(cycle.pattern, nullptr, &options, tell, &some, &none, nullptr, nullptr),
            TAMIS_CANCELLED);
  EXPECT_EQ(some.calls, 3);
  EXPECT_EQ(none.handle, nullptr);
  Told checking;
  checking.stop_at = 1;
  tamis_verification verification = no_verification();
  EXPECT_EQ(tamis_verify(cycle.pattern, witness, nullptr, 1, tell, &checking, &verification),
            TAMIS_CANCELLED);
}

TEST(CApiRealise, NonsenseIsNamed) {
  const Cycle cycle;
  const Planted planted(cycle);
  const std::vector<tamis_array> arrays = planted.arrays();
  Witness witness;
  EXPECT_EQ(tamis_witness_create(arrays.data(), 1, nullptr, &witness), TAMIS_INPUT);  // no k
  EXPECT_EQ(witness.handle, nullptr);
  const std::vector<tamis_array> twice{arrays[0], arrays[0]};
  expect_usage(tamis_witness_create(twice.data(), 2, nullptr, &witness), "twice");
  const tamis_array other{"v", planted.shape.data(), planted.q.data(), 2, TAMIS_F64};
  expect_usage(tamis_witness_create(&other, 1, nullptr, &witness), "\"v\"");
  const tamis_array empty{"q", planted.shape.data(), nullptr, 2, TAMIS_F64};
  expect_usage(tamis_witness_create(&empty, 1, nullptr, &witness), "null");
  const std::vector<std::int64_t> beyond{huge, huge};
  const tamis_array large{"q", beyond.data(), planted.q.data(), 2, TAMIS_F64};
  EXPECT_EQ(tamis_witness_create(&large, 1, nullptr, &witness), TAMIS_USAGE);
  const std::vector<double> not_finite(n * n, std::numeric_limits<double>::quiet_NaN());
  const std::vector<tamis_array> nan{arrays[0],
                                     {"k", planted.shape.data(), not_finite.data(), 2, TAMIS_F64}};
  EXPECT_EQ(tamis_witness_create(nan.data(), 2, nullptr, &witness), TAMIS_INPUT);
  expect_usage(tamis_witness_create(nullptr, 2, nullptr, &witness), "arrays");
  expect_usage(tamis_witness_create(arrays.data(), 2, nullptr, nullptr), "out");
  tamis_conditions conditions{sizeof(tamis_conditions), 1, 1, 0, 0};
  expect_usage(tamis_witness_create(arrays.data(), 2, &conditions, &witness), "eps1 is 1");
  EXPECT_EQ(witness.handle, nullptr);

  ASSERT_EQ(tamis_witness_create(arrays.data(), 2, nullptr, &witness), TAMIS_OK);
  tamis_array array{};
  expect_usage(tamis_witness_get(witness, "v", &array), "\"v\"");
  tamis_verification verification = no_verification();
  expect_usage(tamis_verify(nullptr, witness, nullptr, 0, nullptr, nullptr, &verification),
               "pattern");
  expect_usage(tamis_verify(cycle.pattern, nullptr, nullptr, 0, nullptr, nullptr, &verification),
               "witness");
  expect_usage(tamis_verify(cycle.pattern, witness, nullptr, -1, nullptr, nullptr, &verification),
               "threads");
  verification.size = 0;
  expect_usage(tamis_verify(cycle.pattern, witness, nullptr, 0, nullptr, nullptr, &verification),
               "sizeof(tamis_verification)");
  conditions = {sizeof(tamis_conditions), 0.1, 1, 1, 0};
  verification.size = sizeof verification;
  EXPECT_EQ(tamis_verify(cycle.pattern, witness, &conditions, 0, nullptr, nullptr, &verification),
            TAMIS_INPUT);
  conditions.causal = 2;
  expect_usage(
      tamis_verify(cycle.pattern, witness, &conditions, 0, nullptr, nullptr, &verification),
      "causal is 2");
}

TEST(CApiRealise, OptionsOutsideTheirRangeAreNamed) {
  const Cycle cycle;
  Witness witness;
  const auto refuse = [&](auto change, const char* part) {
    tamis_realise_options options = options_with(4);
    change(options);
    expect_usage(tamis_realise(cycle.pattern, nullptr, &options, nullptr, nullptr, &witness,
                               nullptr, nullptr),
                 part);
    EXPECT_EQ(witness.handle, nullptr);
  };
  refuse([](auto& o) { o.size = 0; }, "sizeof(tamis_realise_options)");
  refuse([](auto& o) { o.method = 4; }, "method 4");
  refuse([](auto& o) { o.dim = -1; }, "dimension -1");
  refuse([](auto& o) { o.max_norm = std::nan(""); }, "norm product");
  refuse([](auto& o) { o.hidden = 8; }, "only method jl");
  refuse([](auto& o) { o.steps = -1; }, "negative");
  refuse([](auto& o) { o.threads = -1; }, "threads");
  refuse(
      [](auto& o) {
        o.method = TAMIS_JL;
        o.hidden = 7;
      },
      "8");  // 2 dim
  refuse(
      [](auto& o) {
        o.method = TAMIS_JL;
        o.dim = n + 1;
      },
      "12");
  expect_usage(
      tamis_realise(cycle.pattern, nullptr, nullptr, nullptr, nullptr, nullptr, nullptr, nullptr),
      "witness");
  expect_usage(
      tamis_realise(nullptr, nullptr, nullptr, nullptr, nullptr, &witness, nullptr, nullptr),
      "pattern");
}

}  // namespace
}  // namespace tamis_c
