// The C ABI: the same bits as the C++ functions, codes instead of crashes, and lifetimes.
#include <gtest/gtest.h>
#include <tamis/tamis.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <string>
#include <thread>
#include <vector>

#include <tamis/attention.h>
#include <tamis/info.h>
#include <tamis/kv.h>

#include "capi_support.h"
#include "core/random.h"
#include "support/allocations.h"

namespace tamis_c {
namespace {

std::vector<float> random_floats(std::int64_t count, std::uint64_t row) {
  std::vector<float> x(static_cast<std::size_t>(count));
  const tamis::Stream stream(1, tamis::Purpose::test, row);
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
  Kv kv;
  Workspace workspace;

  Problem() {
    EXPECT_EQ(tamis_kv_create(TAMIS_F32, 2, 5, 7, &kv), TAMIS_OK);
    EXPECT_EQ(tamis_kv_append_f32(kv, k.data(), v.data(), tokens), TAMIS_OK);
    EXPECT_EQ(tamis_kv_get_pages(kv, pages.data(), 2), TAMIS_OK);
    EXPECT_EQ(tamis_workspace_create(2, &workspace), TAMIS_OK);
  }

  tamis_code dense() {
    return tamis_dense(&shape, q.data(), pages.data(), seen.data(), workspace, out.data(), lse.data());
  }
};

struct Result {
  std::vector<float> out;
  std::vector<float> lse;
  bool operator==(const Result&) const = default;
};

Result by_cpp(const Problem& p) {
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
  tamis::dense(shape, {p.q.data(), 12, 5}, tables.heads(), p.seen, workspace, {result.out.data(), 12, 7},
               result.lse);
  return result;
}

// ---- Results ----

TEST(CApi, DenseOverPagesAndArraysGivesTheBitsOfTheCppFunction) {
  Problem p;
  const Result expected = by_cpp(p);
  ASSERT_EQ(p.dense(), TAMIS_OK) << tamis_last_error();
  EXPECT_EQ((Result{p.out, p.lse}), expected);
  EXPECT_EQ(p.lse[0], -std::numeric_limits<float>::infinity());  // the first query sees no key

  std::vector<float> out(p.out.size());
  std::vector<float> lse(p.lse.size());
  ASSERT_EQ(tamis_dense_arrays(&p.shape, p.q.data(), p.k.data(), p.v.data(), p.tokens, p.seen.data(),
                               p.workspace, out.data(), lse.data()),
            TAMIS_OK);
  EXPECT_EQ((Result{out, lse}), expected);
}

TEST(CApi, DenseAllocatesNothingOnceTheWorkspaceHasSeenTheShape) {
  Problem p;
  Workspace alone;  // one thread: where the loop is made of plain threads, starting them allocates
  ASSERT_EQ(tamis_workspace_create(1, &alone), TAMIS_OK);
  const auto dense = [&] {
    return tamis_dense(&p.shape, p.q.data(), p.pages.data(), p.seen.data(), alone, p.out.data(),
                       p.lse.data());
  };
  ASSERT_EQ(dense(), TAMIS_OK);
  const std::int64_t before = tamis::testing::allocations();
  ASSERT_EQ(dense(), TAMIS_OK);
  EXPECT_EQ(tamis::testing::allocations(), before);
}

TEST(CApi, NullSeenMeansEveryKey) {
  Problem p;
  p.seen.assign(3, 300);
  ASSERT_EQ(p.dense(), TAMIS_OK);
  const Result all{p.out, p.lse};
  ASSERT_EQ(
      tamis_dense(&p.shape, p.q.data(), p.pages.data(), nullptr, p.workspace, p.out.data(), p.lse.data()),
      TAMIS_OK);
  EXPECT_EQ((Result{p.out, p.lse}), all);
}

TEST(CApi, ReferenceIsWithinTheRoundingBoundOfDense) {
  Problem p;
  ASSERT_EQ(p.dense(), TAMIS_OK);
  std::vector<double> out(p.out.size());
  std::vector<double> lse(p.lse.size());
  ASSERT_EQ(tamis_reference(&p.shape, p.q.data(), p.pages.data(), p.seen.data(), out.data(), lse.data()),
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
  // The first page, and the rest of the pages.
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
  ASSERT_EQ(tamis_dense_states(&p.shape, p.q.data(), first.data(), nullptr, p.workspace, &into), TAMIS_OK);
  ASSERT_EQ(tamis_dense_states(&p.shape, p.q.data(), rest.data(), nullptr, p.workspace, &from), TAMIS_OK);
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
  const std::vector<std::pair<Output, CppOutput>> outputs{{tamis_sa, tamis::sa}, {tamis_csa, tamis::csa}};
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

// ---- Errors ----

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
  EXPECT_EQ(tamis_last_error(), mine);  // success leaves it alone
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
  expect_usage(tamis_reference(&p.shape, q, p.pages.data(), nullptr, nullptr, nullptr), "out is null");
  expect_usage(tamis_attention_rounding(&p.shape, 1, 1, 1, 1, nullptr), "tamis_rounding is null");
}

TEST(CApi, NullHandlesAndOutputsGiveUsage) {
  std::size_t count = 0;
  const char* text = nullptr;
  tamis_array array{};
  tamis_kv_pages pages{};
  tamis_kv_info kv_info{sizeof(tamis_kv_info), 0, 0, 0, 0, 0, 0};
  tamis_trace_info trace_info{};
  trace_info.size = sizeof trace_info;
  Kv kv;
  Tensor tensor;
  Layer layer;
  const std::vector<tamis_code> codes{
      tamis_workspace_create(1, nullptr),
      tamis_workspace_threads(nullptr, nullptr),
      tamis_target(nullptr),
      tamis_dtype_name(TAMIS_F32, nullptr),
      tamis_kv_create(TAMIS_F32, 1, 1, 1, nullptr),
      tamis_kv_copy(nullptr, &kv),
      tamis_kv_append_f32(nullptr, nullptr, nullptr, 1),
      tamis_kv_append(nullptr, nullptr, nullptr, 1),
      tamis_kv_truncate(nullptr, 0),
      tamis_kv_get_info(nullptr, &kv_info),
      tamis_kv_get_pages(nullptr, &pages, 1),
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
  tamis_kv_free(nullptr);
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
    EXPECT_EQ(tamis_dense_arrays(&p.shape, p.q.data(), p.k.data(), p.v.data(), tokens, nullptr, p.workspace,
                                 p.out.data(), p.lse.data()),
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
  for (const std::size_t bad : {std::size_t{0}, sizeof(tamis_shape) - 1, std::size_t{1} << 20, SIZE_MAX}) {
    p.shape.size = bad;
    expect_usage(p.dense(), "sizeof(tamis_shape)");
  }
  // A caller whose struct has grown by one field.
  struct Newer {
    tamis_shape shape;
    std::int64_t field;
  } newer{p.shape, 0};
  newer.shape.size = sizeof newer;
  const auto dense = [&] {
    return tamis_dense(&newer.shape, p.q.data(), p.pages.data(), p.seen.data(), p.workspace, p.out.data(),
                       p.lse.data());
  };
  ASSERT_EQ(dense(), TAMIS_OK) << tamis_last_error();
  EXPECT_EQ((Result{p.out, p.lse}), expected);
  newer.field = 1;
  expect_usage(dense(), "does not know");

  struct NewerInfo {
    tamis_kv_info info;
    std::int64_t field;
  } info{{}, -1};
  info.info.size = sizeof info;
  ASSERT_EQ(tamis_kv_get_info(p.kv, &info.info), TAMIS_OK);
  EXPECT_EQ(info.info.tokens, 300);
  EXPECT_EQ(info.info.size, sizeof info);
  EXPECT_EQ(info.field, 0);
  info.info.size = 0;
  expect_usage(tamis_kv_get_info(p.kv, &info.info), "sizeof(tamis_kv_info)");
}

// ---- Stores ----

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
