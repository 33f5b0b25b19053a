// A cache of two sequences, shared by the tests of the C ABI that attend to it.
#pragma once

#include <gtest/gtest.h>
#include <tamis/tamis.h>

#include <cstdint>
#include <vector>

#include "unit/capi/capi_problem.h"

namespace tamis_c {

/// 4 query heads on 2 KV heads, d = 32, d_v = 24, keys and values in f32, 12 bits. Sequence 7 has
/// 2500 tokens, sequence 9 the first 1300 of them. Keys grow along the text, so that some matter
/// more than others.
struct CacheProblem {
  static constexpr std::int64_t tokens = 2500;
  static constexpr std::int64_t fewer = 1300;
  static constexpr std::int64_t heads_count = 4;
  static constexpr std::int64_t kv_heads = 2;
  static constexpr std::int64_t dim = 32;
  static constexpr std::int64_t value_dim = 24;

  tamis_heads heads{sizeof(tamis_heads), heads_count, kv_heads, dim, value_dim, 0.2F, 0};
  tamis_cache_options cache_options{sizeof(tamis_cache_options), 0, TAMIS_F32, 0, 0, 0, nullptr};
  std::vector<float> k = random_floats(kv_heads * tokens * dim, 12);
  std::vector<float> v = random_floats(kv_heads * tokens * value_dim, 13);
  std::vector<tamis_sequence> sequences{7, 9};
  Cache cache;
  Workspace workspace;

  /// Rows of arrays [kv_heads, tokens, d].
  [[nodiscard]] static tamis_rows rows_of(const std::vector<float>& x, std::int64_t d,
                                          std::int64_t first = 0) {
    return {sizeof(tamis_rows), x.data() + first * d, TAMIS_F32, 0, d, tokens * d, 0, 0};
  }
  [[nodiscard]] tamis_rows keys(std::int64_t first = 0) const { return rows_of(k, dim, first); }
  [[nodiscard]] tamis_rows values(std::int64_t first = 0) const {
    return rows_of(v, value_dim, first);
  }

  tamis_code append(tamis_cache* to, tamis_sequence sequence, std::int64_t first,
                    std::int64_t count) {
    const tamis_rows key_rows = keys(first);
    const tamis_rows value_rows = values(first);
    return tamis_cache_append(to, 1, &sequence, &count, &key_rows, &value_rows, workspace);
  }

  CacheProblem() {
    for (std::size_t i = 0; i < k.size(); ++i)
      k[i] *= 0.2F + 2.0F * static_cast<float>(i / dim % tokens) / tokens;
    EXPECT_EQ(tamis_workspace_create(1, &workspace), TAMIS_OK);
    EXPECT_EQ(tamis_cache_create(&heads, &cache_options, &cache), TAMIS_OK) << tamis_last_error();
    EXPECT_EQ(tamis_cache_add(cache, 7), TAMIS_OK) << tamis_last_error();
    EXPECT_EQ(append(cache, 7, 0, tokens), TAMIS_OK) << tamis_last_error();
    EXPECT_EQ(tamis_cache_fork(cache, 7, fewer, 9), TAMIS_OK) << tamis_last_error();
  }
};

/// One query of sequence 7 and two of sequence 9, with the arrays that attention needs.
struct AttendProblem : CacheProblem {
  static constexpr std::int64_t queries = 3;
  static constexpr std::int64_t rows = queries * heads_count;

  std::vector<std::int64_t> counts{1, 2};
  tamis_batch batch{sizeof(tamis_batch), 2, sequences.data(), counts.data(), nullptr};
  std::vector<float> q = random_floats(rows * dim, 11);
  tamis_queries query_rows{sizeof(tamis_queries), q.data(), TAMIS_F32, 0, heads_count* dim, dim};
  std::vector<tamis_budget> budgets = std::vector<tamis_budget>(1);
  tamis_attend_options options{sizeof(tamis_attend_options), TAMIS_PREFER_BYTES, 0, 0, 0};
  std::vector<float> out = std::vector<float>(rows * value_dim);
  std::vector<float> lse = std::vector<float>(rows);
  std::vector<tamis_certificate> certificates = std::vector<tamis_certificate>(rows);
  tamis_results results{sizeof(tamis_results),    out.data(), TAMIS_F32,  0,
                        heads_count* value_dim,   value_dim,  lse.data(), certificates.data(),
                        sizeof(tamis_certificate)};
  Plan plan;

  AttendProblem() {
    EXPECT_EQ(tamis_plan_create(cache, &batch, &plan), TAMIS_OK) << tamis_last_error();
    use("mass:0.05");
  }

  void use(const char* text) {
    budgets.resize(1);
    ASSERT_EQ(tamis_budget_parse(text, budgets.data()), TAMIS_OK) << tamis_last_error();
  }
  tamis_code attend() {
    return tamis_attend(cache, plan, &query_rows, budgets.data(), budgets.size(), &options,
                        workspace, &results);
  }
};

}  // namespace tamis_c
