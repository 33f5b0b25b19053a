// A small problem shared by the tests of the C ABI, and its solution by the C++ functions.
#pragma once

#include <gtest/gtest.h>
#include <tamis/tamis.h>

#include <cstdint>
#include <vector>

#include <tamis/attention.h>

#include "lab/numbers/random.h"
#include "unit/capi/capi_support.h"

namespace tamis_c {

inline std::vector<float> random_floats(std::int64_t count, std::uint64_t row) {
  std::vector<float> x(static_cast<std::size_t>(count));
  const tamis::lab::numbers::Stream stream(1, tamis::lab::numbers::Purpose::test, row);
  for (std::size_t i = 0; i < x.size(); ++i)
    x[i] = static_cast<float>(stream.normal(static_cast<std::uint32_t>(i)));
  return x;
}

/// 4 query heads, 2 KV heads, 3 queries, d = 5, d_v = 7, 300 tokens in f32: more than two pages.
struct Problem {
  tamis_shape shape{sizeof(tamis_shape), 4, 2, 3, 5, 7, TAMIS_F32, 0.5F};
  std::int64_t tokens = 300;
  std::vector<float> q = random_floats(12 * 5, 1);
  std::vector<float> k = random_floats(2 * 300 * 5, 2);
  std::vector<float> v = random_floats(2 * 300 * 7, 3);
  std::vector<std::int64_t> seen{0, 129, 300};
  std::vector<float> out = std::vector<float>(12 * 7);
  std::vector<float> lse = std::vector<float>(12);
  std::vector<tamis_kv_pages> pages = std::vector<tamis_kv_pages>(2);
  tamis::PageTables tables{tamis::DType::f32, k.data(), v.data(), 2, 300, 5, 7};
  Workspace workspace;

  Problem() {
    for (std::size_t h = 0; h < 2; ++h) {
      const tamis::KvPages& head = tables.heads()[h];
      pages[h] = {head.k, head.v, head.tokens, head.k_stride, head.v_stride};
    }
    EXPECT_EQ(tamis_workspace_create(2, &workspace), TAMIS_OK);
  }

  tamis_code dense() {
    return tamis_dense(&shape, q.data(), pages.data(), seen.data(), workspace, out.data(),
                       lse.data());
  }
};

struct Result {
  std::vector<float> out;
  std::vector<float> lse;
  bool operator==(const Result&) const = default;
};

inline Result by_cpp(const Problem& p) {
  tamis::Shape shape;
  shape.query_heads = 4;
  shape.kv_heads = 2;
  shape.queries = 3;
  shape.head_dim = 5;
  shape.value_dim = 7;
  shape.scale = 0.5F;
  const tamis::PageTables tables(tamis::DType::f32, p.k.data(), p.v.data(), 2, p.tokens, 5, 7);
  tamis::Workspace workspace(1);
  Result result{std::vector<float>(12 * 7), std::vector<float>(12)};
  tamis::dense(shape, {p.q.data(), 12, 5}, tables.heads(), p.seen, workspace,
               {result.out.data(), 12, 7}, result.lse);
  return result;
}

}  // namespace tamis_c
