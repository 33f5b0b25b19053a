// The C ABI answers invalid arguments with error codes and messages, not with crashes.
#include <gtest/gtest.h>
#include <tamis/tamis.h>

#include <cmath>
#include <functional>
#include <limits>
#include <string>
#include <thread>
#include <vector>

#include "unit/capi/capi_problem.h"

namespace tamis_c {
namespace {

TEST(CApi, TheMessageBelongsToTheThreadThatFailed) {
  expect_usage(tamis_dtype_size(99, nullptr), "");
  const std::string mine = tamis_last_error();
  EXPECT_NE(mine, "");
  std::thread([] {
    EXPECT_STREQ(tamis_last_error(), "");
    expect_usage(tamis_workspace_create(-5, nullptr), "out is null");
  }).join();
  EXPECT_EQ(tamis_last_error(), mine);
  EXPECT_NE(std::string(tamis_version()), "");
  EXPECT_EQ(tamis_last_error(), mine);  // success does not change it
}

TEST(CApi, NullPointersGiveUsage) {
  Problem p;
  const auto dense = [&](const tamis_shape* shape, const float* q, const tamis_kv_pages* kv,
                         tamis_workspace* workspace, float* out, float* lse) {
    return tamis_dense(shape, q, kv, p.seen.data(), workspace, out, lse);
  };
  float* out = p.out.data();
  float* lse = p.lse.data();
  const float* q = p.q.data();
  expect_usage(dense(nullptr, q, p.pages.data(), p.workspace, out, lse), "tamis_shape is null");
  expect_usage(dense(&p.shape, nullptr, p.pages.data(), p.workspace, out, lse), "q is null");
  expect_usage(dense(&p.shape, q, nullptr, p.workspace, out, lse), "kv is null");
  expect_usage(dense(&p.shape, q, p.pages.data(), nullptr, out, lse), "workspace is null");
  expect_usage(dense(&p.shape, q, p.pages.data(), p.workspace, nullptr, lse), "out is null");
  expect_usage(dense(&p.shape, q, p.pages.data(), p.workspace, out, nullptr), "lse is null");

  std::vector<tamis_kv_pages> pages = p.pages;
  pages[1].v = nullptr;
  expect_usage(dense(&p.shape, q, pages.data(), p.workspace, out, lse), "kv[1].v is null");
  const std::vector<const void*> table{p.pages[0].k[0], nullptr, p.pages[0].k[2]};
  pages = p.pages;
  pages[0].k = table.data();
  expect_usage(dense(&p.shape, q, pages.data(), p.workspace, out, lse), "kv[0].k[1] is null");

  const tamis_states incomplete{p.lse.data(), nullptr, p.out.data()};
  expect_usage(tamis_dense_states(&p.shape, q, p.pages.data(), nullptr, p.workspace, &incomplete),
               "array l");
  expect_usage(tamis_merge(12, 7, nullptr, &incomplete), "into is null");
  expect_usage(tamis_finish(12, 7, nullptr, out, lse), "states is null");
  expect_usage(tamis_dense_arrays(&p.shape, q, nullptr, nullptr, 3, nullptr, p.workspace, out, lse),
               "null");
  expect_usage(tamis_reference(&p.shape, q, p.pages.data(), nullptr, nullptr, nullptr),
               "out is null");
  expect_usage(tamis_attention_rounding(&p.shape, 1, 1, 1, 1, nullptr), "out is null");
}

TEST(CApi, NullHandlesAndOutputsGiveUsage) {
  std::size_t count = 0;
  const char* text = nullptr;
  tamis_array array{};
  tamis_trace_info trace_info{};
  trace_info.size = sizeof trace_info;
  Tensor tensor;
  Layer layer;
  const std::vector<tamis_code> codes{
      tamis_workspace_create(1, nullptr),
      tamis_workspace_threads(nullptr, nullptr),
      tamis_target(nullptr),
      tamis_dtype_name(TAMIS_F32, nullptr),
      tamis_tensor_get(nullptr, &array),
      tamis_tensor_to_f32(nullptr, nullptr, 0),
      tamis_tensor_to_f64(nullptr, nullptr, 0),
      tamis_npy_read(nullptr, &tensor),
      tamis_npy_read("x.npy", nullptr),
      tamis_npy_write(nullptr, &array),
      tamis_npy_write("x.npy", nullptr),
      tamis_safetensors_open(nullptr, nullptr),
      tamis_safetensors_count(nullptr, &count),
      tamis_safetensors_at(nullptr, 0, &array),
      tamis_safetensors_read(nullptr, "x", &tensor),
      tamis_safetensors_metadata(nullptr, "x", &text),
      tamis_safetensors_write(nullptr, nullptr, 0, nullptr, 0),
      tamis_safetensors_write("x.safetensors", nullptr, 1, nullptr, 0),
      tamis_safetensors_write("x.safetensors", nullptr, 0, nullptr, 1),
      tamis_trace_open(nullptr, nullptr),
      tamis_trace_get_info(nullptr, &trace_info),
      tamis_trace_metadata(nullptr, "x", &text),
      tamis_trace_positions(nullptr, nullptr, nullptr),
      tamis_trace_layer(nullptr, 0, nullptr, nullptr),
      tamis_layer_read(nullptr, 0, &layer),
      tamis_layer_get(nullptr, nullptr, nullptr, nullptr),
      tamis_layer_read_weights(nullptr, 0, nullptr, nullptr),
      tamis_layer_read_weight_norms(nullptr, 0, nullptr, 0),
      tamis_pattern_read(nullptr, nullptr),
      tamis_pattern_get(nullptr, nullptr),
      tamis_pattern_row_name(nullptr, 0, &text),
      tamis_pattern_column_name(nullptr, 0, &text),
      tamis_pattern_write(nullptr, nullptr),
      tamis_pattern_write("x.mtx", nullptr),
  };
  for (std::size_t i = 0; i < codes.size(); ++i) EXPECT_EQ(codes[i], TAMIS_USAGE) << "call " << i;
  tamis_workspace_free(nullptr);
  tamis_tensor_free(nullptr);
  tamis_safetensors_free(nullptr);
  tamis_trace_free(nullptr);
  tamis_layer_free(nullptr);
  tamis_pattern_free(nullptr);
}

TEST(CApi, NonsenseShapesGiveUsage) {
  const std::vector<std::function<void(tamis_shape&)>> breaks{
      [](tamis_shape& s) { s.query_heads = 0; },
      [](tamis_shape& s) { s.query_heads = -4; },
      [](tamis_shape& s) { s.query_heads = 3; },
      [](tamis_shape& s) { s.kv_heads = 0; },
      [](tamis_shape& s) { s.kv_heads = std::numeric_limits<std::int64_t>::min(); },
      [](tamis_shape& s) { s.queries = -1; },
      [](tamis_shape& s) { s.queries = huge; },
      [](tamis_shape& s) { s.query_heads = s.queries = std::int64_t{1} << 40; },
      [](tamis_shape& s) { s.query_heads = s.kv_heads = huge; },
      [](tamis_shape& s) { s.head_dim = 0; },
      [](tamis_shape& s) { s.head_dim = 1025; },
      [](tamis_shape& s) { s.head_dim = huge; },
      [](tamis_shape& s) { s.value_dim = -7; },
      [](tamis_shape& s) { s.value_dim = huge; },
      [](tamis_shape& s) { s.dtype = TAMIS_F64; },
      [](tamis_shape& s) { s.dtype = 258; },  // TAMIS_F32 in its last byte
      [](tamis_shape& s) { s.scale = std::nanf(""); },
  };
  for (std::size_t i = 0; i < breaks.size(); ++i) {
    Problem p;
    breaks[i](p.shape);
    EXPECT_EQ(p.dense(), TAMIS_USAGE) << "shape " << i << ": " << tamis_last_error();
    EXPECT_EQ(tamis_dense_arrays(&p.shape, p.q.data(), p.k.data(), p.v.data(), p.tokens, nullptr,
                                 p.workspace, p.out.data(), p.lse.data()),
              TAMIS_USAGE)
        << "shape " << i << ": " << tamis_last_error();
  }
  Problem p;
  for (const std::int64_t tokens : {std::int64_t{-1}, huge, std::int64_t{1} << 60})
    EXPECT_EQ(tamis_dense_arrays(&p.shape, p.q.data(), p.k.data(), p.v.data(), tokens, nullptr,
                                 p.workspace, p.out.data(), p.lse.data()),
              TAMIS_USAGE)
        << tokens;
  p.seen = {0, 1, 301};
  expect_usage(p.dense(), "301");
  expect_usage(tamis_merge(-1, 7, nullptr, nullptr), "null");
  const tamis_states states{p.lse.data(), p.lse.data(), p.out.data()};
  EXPECT_EQ(tamis_merge(huge, 7, &states, &states), TAMIS_USAGE);
  EXPECT_EQ(tamis_finish(-1, 7, &states, p.out.data(), p.lse.data()), TAMIS_USAGE);
}

TEST(CApi, AQueryThatIsNotFiniteIsNamed) {
  Problem p;
  p.q[5 * 4] = std::numeric_limits<float>::infinity();  // query 1 of head 1
  EXPECT_EQ(p.dense(), TAMIS_INPUT);
  EXPECT_NE(std::string(tamis_last_error()).find("row 4"), std::string::npos) << tamis_last_error();
}

TEST(CApi, StructsOfOlderAndNewerCallersAreTold) {
  Problem p;
  const Result expected = by_cpp(p);
  for (const std::size_t bad :
       {std::size_t{0}, sizeof(tamis_shape) - 1, std::size_t{1} << 20, SIZE_MAX}) {
    p.shape.size = bad;
    expect_usage(p.dense(), "sizeof(tamis_shape)");
  }
  // A caller compiled against a struct with one more field.
  struct Newer {
    tamis_shape shape;
    std::int64_t field;
  } newer{p.shape, 0};
  newer.shape.size = sizeof newer;
  const auto dense = [&] {
    return tamis_dense(&newer.shape, p.q.data(), p.pages.data(), p.seen.data(), p.workspace,
                       p.out.data(), p.lse.data());
  };
  ASSERT_EQ(dense(), TAMIS_OK) << tamis_last_error();
  EXPECT_EQ((Result{p.out, p.lse}), expected);
  newer.field = 1;
  expect_usage(dense(), "does not know");

  Cache cache;
  const tamis_heads heads{sizeof(tamis_heads), 1, 1, 4, 4, 1, 0};
  ASSERT_EQ(tamis_cache_create(&heads, nullptr, &cache), TAMIS_OK) << tamis_last_error();
  struct NewerInfo {
    tamis_cache_info info;
    std::int64_t field;
  } info{{}, -1};
  info.info.size = sizeof info;
  info.info.sequences = -1;
  ASSERT_EQ(tamis_cache_get_info(cache, &info.info), TAMIS_OK);
  EXPECT_EQ(info.info.sequences, 0);
  EXPECT_EQ(info.info.size, sizeof info);
  EXPECT_EQ(info.field, 0);
  info.info.size = 0;
  expect_usage(tamis_cache_get_info(cache, &info.info), "sizeof(tamis_cache_info)");
}

TEST(CApi, MoreHeadsThanThereCanBeGiveUsageEvenWithoutTokensOrQueries) {
  Problem p;
  constexpr std::int64_t many = std::int64_t{1} << 50;
  const auto arrays = [&](std::int64_t query_heads, std::int64_t kv_heads, std::int64_t queries) {
    p.shape.query_heads = query_heads;
    p.shape.kv_heads = kv_heads;
    p.shape.queries = queries;
    return tamis_dense_arrays(&p.shape, p.q.data(), p.k.data(), p.v.data(), 0, nullptr, p.workspace,
                              p.out.data(), p.lse.data());
  };
  expect_usage(arrays(1, many, 1), "multiple");
  expect_usage(arrays(many, many, 0), "at most 1048576");
  expect_usage(arrays((1 << 20) + 1, 1, 0), "at most 1048576");
  EXPECT_EQ(arrays(1 << 20, 1, 0), TAMIS_OK) << tamis_last_error();
  p.shape.query_heads = p.shape.kv_heads = many;
  p.shape.queries = 0;
  expect_usage(p.dense(), "at most 1048576");
}

TEST(CApi, EverySizeOfADefinitionIsCheckedEvenBesideAZero) {
  const std::vector<double> x(16);
  std::vector<double> out(16);
  const auto usam = [&](std::int64_t n, std::int64_t d_hid, std::int64_t d) {
    return tamis_usam(n, d_hid, d, x.data(), x.data(), x.data(), out.data());
  };
  expect_usage(usam(4, 0, std::int64_t{1} << 62), "memory");
  expect_usage(usam(1, 0, -3), "negative");
  expect_usage(usam(0, -1, 0), "negative");
  expect_usage(usam(0, 0, -1), "negative");
  expect_usage(
      tamis_csa(4, 0, std::int64_t{1} << 62, x.data(), x.data(), x.data(), x.data(), out.data()),
      "memory");
  expect_usage(tamis_sa(1, 0, -3, x.data(), x.data(), x.data(), x.data(), out.data()), "negative");
  EXPECT_EQ(usam(4, 0, 2), TAMIS_OK) << tamis_last_error();
  EXPECT_EQ(out, std::vector<double>(16, 1.0));  // exp(0)
}

}  // namespace
}  // namespace tamis_c
