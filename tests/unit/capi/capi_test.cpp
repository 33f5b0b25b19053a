// The C ABI gives the same bits as the C++ functions.
#include <gtest/gtest.h>
#include <tamis/tamis.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include <tamis/attention.h>
#include <tamis/info.h>
#include <tamis/kv.h>

#include "support/allocations.h"
#include "unit/capi/capi_problem.h"

namespace tamis_c {
namespace {

TEST(CApi, DenseOverPagesAndArraysGivesTheBitsOfTheCppFunction) {
  Problem p;
  const Result expected = by_cpp(p);
  ASSERT_EQ(p.dense(), TAMIS_OK) << tamis_last_error();
  EXPECT_EQ((Result{p.out, p.lse}), expected);
  EXPECT_EQ(p.lse[0], -std::numeric_limits<float>::infinity());  // the first query sees no key

  std::vector<float> out(p.out.size());
  std::vector<float> lse(p.lse.size());
  ASSERT_EQ(tamis_dense_arrays(&p.shape, p.q.data(), p.k.data(), p.v.data(), p.tokens,
                               p.seen.data(), p.workspace, out.data(), lse.data()),
            TAMIS_OK);
  EXPECT_EQ((Result{out, lse}), expected);
}

TEST(CApi, DenseAllocatesNothingOnceTheWorkspaceHasSeenTheShape) {
  Problem p;
  Workspace workspace;  // for all cores; its threads are made by the first call
  ASSERT_EQ(tamis_workspace_create(0, &workspace), TAMIS_OK);
  const auto dense = [&] {
    return tamis_dense(&p.shape, p.q.data(), p.pages.data(), p.seen.data(), workspace, p.out.data(),
                       p.lse.data());
  };
  ASSERT_EQ(dense(), TAMIS_OK);
  const std::int64_t before = tamis::test::allocations();
  ASSERT_EQ(dense(), TAMIS_OK);
  EXPECT_EQ(tamis::test::allocations(), before);
}

TEST(CApi, NullSeenMeansEveryKey) {
  Problem p;
  p.seen.assign(3, 300);
  ASSERT_EQ(p.dense(), TAMIS_OK);
  const Result all{p.out, p.lse};
  ASSERT_EQ(tamis_dense(&p.shape, p.q.data(), p.pages.data(), nullptr, p.workspace, p.out.data(),
                        p.lse.data()),
            TAMIS_OK);
  EXPECT_EQ((Result{p.out, p.lse}), all);
}

TEST(CApi, ReferenceIsWithinTheRoundingBoundOfDense) {
  Problem p;
  ASSERT_EQ(p.dense(), TAMIS_OK);
  std::vector<double> out(p.out.size());
  std::vector<double> lse(p.lse.size());
  ASSERT_EQ(
      tamis_reference(&p.shape, p.q.data(), p.pages.data(), p.seen.data(), out.data(), lse.data()),
      TAMIS_OK);
  const auto largest_norm = [](const std::vector<float>& x, std::size_t dim) {
    double largest = 0;
    for (std::size_t i = 0; i < x.size(); i += dim) {
      double square = 0;
      for (std::size_t j = i; j < i + dim; ++j)
        square += static_cast<double>(x[j]) * static_cast<double>(x[j]);
      largest = std::max(largest, std::sqrt(square));
    }
    return largest;
  };
  tamis_rounding bound{sizeof(tamis_rounding), 0, 0, 0};
  ASSERT_EQ(tamis_attention_rounding(&p.shape, 300, largest_norm(p.q, 5), largest_norm(p.k, 5),
                                     largest_norm(p.v, 7), &bound),
            TAMIS_OK);
  EXPECT_EQ(bound.size, sizeof bound);
  EXPECT_GT(bound.error, 0);
  for (std::size_t row = 0; row < lse.size(); ++row) {
    if (row % 3 == 0) continue;  // sees no key
    EXPECT_LE(std::abs(lse[row] - static_cast<double>(p.lse[row])), bound.lse);
    double square = 0;
    for (std::size_t c = 0; c < 7; ++c) {
      const double difference = out[row * 7 + c] - static_cast<double>(p.out[row * 7 + c]);
      square += difference * difference;
    }
    EXPECT_LE(std::sqrt(square), bound.error);
  }
}

TEST(CApi, StatesOfTwoPartsMergeAsInCpp) {
  Problem p;
  // The first page, and the other pages.
  std::vector<tamis_kv_pages> first = p.pages;
  std::vector<tamis_kv_pages> rest = p.pages;
  for (std::size_t h = 0; h < 2; ++h) {
    first[h].tokens = 128;
    rest[h] = {p.pages[h].k + 1, p.pages[h].v + 1, 172, p.pages[h].k_stride, p.pages[h].v_stride};
  }
  struct Buffers {
    std::vector<float> m = std::vector<float>(12);
    std::vector<float> l = std::vector<float>(12);
    std::vector<float> o = std::vector<float>(12 * 7);
    tamis_states c() { return {m.data(), l.data(), o.data()}; }
    tamis::SoftmaxStates cpp() { return {m, l, {o.data(), 12, 7}}; }
  } a, b;
  const tamis_states into = a.c();
  const tamis_states from = b.c();
  ASSERT_EQ(tamis_dense_states(&p.shape, p.q.data(), first.data(), nullptr, p.workspace, &into),
            TAMIS_OK);
  ASSERT_EQ(tamis_dense_states(&p.shape, p.q.data(), rest.data(), nullptr, p.workspace, &from),
            TAMIS_OK);
  Buffers a2 = a;
  tamis::merge(a2.cpp(), b.cpp());
  ASSERT_EQ(tamis_merge(12, 7, &into, &from), TAMIS_OK);
  EXPECT_EQ(a.o, a2.o);
  Result expected{std::vector<float>(12 * 7), std::vector<float>(12)};
  tamis::finish(a2.cpp(), {expected.out.data(), 12, 7}, expected.lse);
  ASSERT_EQ(tamis_finish(12, 7, &into, p.out.data(), p.lse.data()), TAMIS_OK);
  EXPECT_EQ((Result{p.out, p.lse}), expected);
}

TEST(CApi, DefinitionsAreThoseOfCpp) {
  const std::vector<double> x{1, 2, -1, 0.5, 0, 3};  // 3 × 2
  const std::vector<double> w_q{1, 0, 0, 1};
  const std::vector<double> w_k{0, 1, 1, 0.25};
  const std::vector<double> w_v{2, 0, 0, -1};
  using Matrix = decltype(&tamis_sam);
  using CppMatrix = decltype(&tamis::sam);
  const std::vector<std::pair<Matrix, CppMatrix>> matrices{{tamis_usam, tamis::usam},
                                                           {tamis_sam, tamis::sam},
                                                           {tamis_cusam, tamis::cusam},
                                                           {tamis_csam, tamis::csam}};
  for (const auto& [c, cpp] : matrices) {
    std::vector<double> got(9, -1);
    std::vector<double> expected(9);
    ASSERT_EQ(c(3, 2, 2, x.data(), w_q.data(), w_k.data(), got.data()), TAMIS_OK);
    cpp({x.data(), 3, 2}, {w_q.data(), 2, 2}, {w_k.data(), 2, 2}, {expected.data(), 3, 3});
    EXPECT_EQ(got, expected);
  }
  using Output = decltype(&tamis_sa);
  using CppOutput = decltype(&tamis::sa);
  const std::vector<std::pair<Output, CppOutput>> outputs{{tamis_sa, tamis::sa},
                                                          {tamis_csa, tamis::csa}};
  for (const auto& [c, cpp] : outputs) {
    std::vector<double> got(6, -1);
    std::vector<double> expected(6);
    ASSERT_EQ(c(3, 2, 2, x.data(), w_q.data(), w_k.data(), w_v.data(), got.data()), TAMIS_OK);
    cpp({x.data(), 3, 2}, {w_q.data(), 2, 2}, {w_k.data(), 2, 2}, {w_v.data(), 2, 2},
        {expected.data(), 3, 2});
    EXPECT_EQ(got, expected);
  }
  std::vector<double> out(9);
  expect_usage(tamis_sam(3, 2, 2, nullptr, w_q.data(), w_k.data(), out.data()), "x is null");
  expect_usage(tamis_sam(-3, 2, 2, x.data(), w_q.data(), w_k.data(), out.data()), "negative");
  expect_usage(tamis_sam(huge, 2, 2, x.data(), w_q.data(), w_k.data(), out.data()), "memory");
}

TEST(CApi, InfoSaysWhatTheCppFunctionsSay) {
  EXPECT_EQ(tamis_version(), tamis::version());
  EXPECT_EQ(tamis_parallel_runtime(), tamis::parallel_runtime());
  EXPECT_EQ(tamis_hardware_threads(), tamis::hardware_threads());
  const auto targets = tamis::targets();
  ASSERT_EQ(tamis_target_count(), targets.size());
  for (std::size_t i = 0; i < targets.size(); ++i) {
    const char* name = nullptr;
    int runs = -1;
    ASSERT_EQ(tamis_target_at(i, &name, &runs), TAMIS_OK);
    EXPECT_EQ(name, targets[i].name);
    EXPECT_EQ(runs, targets[i].runs_here ? 1 : 0);
  }
  expect_usage(tamis_target_at(targets.size(), nullptr, nullptr), "target");
  const char* name = nullptr;
  ASSERT_EQ(tamis_target(&name), TAMIS_OK);
  EXPECT_EQ(name, tamis::target());
  ASSERT_EQ(tamis_library_count(), tamis::libraries().size());
  ASSERT_EQ(tamis_library_at(0, &name), TAMIS_OK);
  EXPECT_EQ(name, tamis::libraries()[0]);
  expect_usage(tamis_library_at(1000, &name), "library");
}

TEST(CApi, DtypesAreThoseOfCpp) {
  for (tamis_dtype i = TAMIS_F16; i <= TAMIS_BOOL; ++i) {
    std::int64_t bytes = 0;
    const char* name = nullptr;
    ASSERT_EQ(tamis_dtype_size(i, &bytes), TAMIS_OK);
    ASSERT_EQ(tamis_dtype_name(i, &name), TAMIS_OK);
    EXPECT_EQ(bytes, tamis::size_of(static_cast<tamis::DType>(i)));
    EXPECT_EQ(name, tamis::name_of(static_cast<tamis::DType>(i)));
  }
  EXPECT_EQ(static_cast<tamis::DType>(TAMIS_BF16), tamis::DType::bf16);
  EXPECT_EQ(static_cast<tamis::DType>(TAMIS_BOOL), tamis::DType::boolean);
  std::int64_t bytes = 0;
  for (const tamis_dtype bad : {-1, TAMIS_BOOL + 1, 256})
    expect_usage(tamis_dtype_size(bad, &bytes), "dtype");
  EXPECT_EQ(tamis_f16_from_float(1.5F), 0x3E00);
  EXPECT_EQ(tamis_f16_to_float(0x3E00), 1.5F);
  EXPECT_EQ(tamis_bf16_from_float(1.5F), 0x3FC0);
  EXPECT_EQ(tamis_bf16_to_float(0x3FC0), 1.5F);
}

TEST(CApi, AWorkspaceSaysItsThreads) {
  Workspace workspace;
  ASSERT_EQ(tamis_workspace_create(3, &workspace), TAMIS_OK);
  int threads = 0;
  ASSERT_EQ(tamis_workspace_threads(workspace, &threads), TAMIS_OK);
  EXPECT_EQ(threads, std::min(3, tamis_hardware_threads()));
  Workspace bad;
  expect_usage(tamis_workspace_create(-1, &bad), "threads");
  EXPECT_EQ(bad.handle, nullptr);
}

}  // namespace
}  // namespace tamis_c
