// Stores and workspaces of the C ABI, and their lifetimes.
#include <gtest/gtest.h>
#include <tamis/tamis.h>

#include <algorithm>
#include <cmath>
#include <thread>
#include <vector>

#include "capi_problem.h"

namespace tamis_c {
namespace {

TEST(CApi, AStoreIsCopiedTruncatedAndFreedIndependently) {
  Kv kv;
  ASSERT_EQ(tamis_kv_create(TAMIS_BF16, 1, 2, 1, &kv), TAMIS_OK);
  const std::vector<float> k{1, 2, 3, 4};
  const std::vector<float> v{5, 6};
  ASSERT_EQ(tamis_kv_append_f32(kv, k.data(), v.data(), 2), TAMIS_OK);
  const std::vector<std::uint16_t> raw{tamis_bf16_from_float(7), tamis_bf16_from_float(8)};
  ASSERT_EQ(tamis_kv_append(kv, raw.data(), raw.data(), 1), TAMIS_OK);
  Kv copy;
  ASSERT_EQ(tamis_kv_copy(kv, &copy), TAMIS_OK);
  ASSERT_EQ(tamis_kv_truncate(kv, 1), TAMIS_OK);

  const auto tokens = [](const tamis_kv* store) {
    tamis_kv_info info{};
    info.size = sizeof info;
    EXPECT_EQ(tamis_kv_get_info(store, &info), TAMIS_OK);
    EXPECT_EQ(info.dtype, TAMIS_BF16);
    EXPECT_GT(info.bytes, 0U);
    return info.tokens;
  };
  EXPECT_EQ(tokens(kv), 1);
  EXPECT_EQ(tokens(copy), 3);
  tamis_kv_pages pages{};
  ASSERT_EQ(tamis_kv_get_pages(copy, &pages, 1), TAMIS_OK);
  const auto* keys = static_cast<const std::uint16_t*>(pages.k[0]);
  EXPECT_EQ(tamis_bf16_to_float(keys[pages.k_stride * 2]), 7);

  expect_usage(tamis_kv_get_pages(copy, &pages, 2), "count");
  expect_usage(tamis_kv_truncate(copy, 4), "truncate");
  expect_usage(tamis_kv_truncate(copy, -1), "truncate");
}

TEST(CApi, AStoreRefusesNonsenseAndStaysAsItWas) {
  Problem p;
  std::vector<float> bad = p.k;
  bad[17] = std::nanf("");
  EXPECT_EQ(tamis_kv_append_f32(p.kv, bad.data(), p.v.data(), 300), TAMIS_INPUT);
  for (const std::int64_t tokens : {std::int64_t{-1}, huge, huge - 300, std::int64_t{1} << 50}) {
    EXPECT_EQ(tamis_kv_append_f32(p.kv, p.k.data(), p.v.data(), tokens), TAMIS_USAGE) << tokens;
    EXPECT_EQ(tamis_kv_append(p.kv, p.k.data(), p.v.data(), tokens), TAMIS_USAGE) << tokens;
  }
  expect_usage(tamis_kv_append_f32(p.kv, nullptr, p.v.data(), 1), "k is null");
  expect_usage(tamis_kv_append(p.kv, p.k.data(), nullptr, 1), "null");
  EXPECT_EQ(tamis_kv_append_f32(p.kv, nullptr, nullptr, 0), TAMIS_OK);
  const Result expected = by_cpp(p);
  ASSERT_EQ(p.dense(), TAMIS_OK);
  EXPECT_EQ((Result{p.out, p.lse}), expected);

  Kv kv;
  struct Bad {
    tamis_dtype dtype;
    std::int64_t heads, head_dim, value_dim;
  };
  for (const Bad& b : {Bad{TAMIS_F64, 1, 1, 1}, Bad{-1, 1, 1, 1}, Bad{TAMIS_F32, 0, 1, 1},
                       Bad{TAMIS_F32, -1, 1, 1}, Bad{TAMIS_F32, huge, 1, 1}, Bad{TAMIS_F32, 1, huge, 1},
                       Bad{TAMIS_F32, 1, 1, huge}, Bad{TAMIS_F32, 1 << 24, 1 << 24, 1 << 24}}) {
    kv.handle = reinterpret_cast<tamis_kv*>(&kv);  // must be overwritten
    EXPECT_EQ(tamis_kv_create(b.dtype, b.heads, b.head_dim, b.value_dim, &kv), TAMIS_USAGE);
    EXPECT_EQ(kv.handle, nullptr);
  }
}

TEST(CApi, OneStoreServesManyThreads) {
  Problem p;
  const Result expected = by_cpp(p);
  std::vector<int> equal(4, 0);
  std::vector<std::thread> threads;
  for (std::size_t t = 0; t < equal.size(); ++t) {
    threads.emplace_back([&, t] {
      Workspace workspace;
      Result result{std::vector<float>(12 * 7), std::vector<float>(12)};
      std::vector<tamis_kv_pages> pages(2);
      if (tamis_workspace_create(1, &workspace) != TAMIS_OK) return;
      for (int repeat = 0; repeat < 10; ++repeat) {
        if (tamis_kv_get_pages(p.kv, pages.data(), 2) != TAMIS_OK) return;
        if (tamis_dense(&p.shape, p.q.data(), pages.data(), p.seen.data(), workspace, result.out.data(),
                        result.lse.data()) != TAMIS_OK)
          return;
        if (result == expected) ++equal[t];
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(equal, std::vector<int>(4, 10));
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
