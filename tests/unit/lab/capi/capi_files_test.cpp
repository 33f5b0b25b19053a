// The C ABI on files: arrays, traces and patterns.
#include <gtest/gtest.h>
#include <tamis/tamis.h>

#include <cmath>
#include <cstring>
#include <filesystem>
#include <string>
#include <vector>

#include <tamis/lab/trace.h>

#include "support/io_files.h"
#include "unit/capi/capi_support.h"

namespace tamis_c {
namespace {

using tamis::test::Folder;

TEST(CApiFiles, ArraysComeBackFromNpy) {
  const Folder folder;
  const std::string path = folder / "a.npy";
  const std::vector<double> data{1, 2, 3, 4, 5, 6};
  const std::vector<std::int64_t> shape{2, 3};
  const tamis_array array{nullptr, shape.data(), data.data(), 2, TAMIS_F64};
  ASSERT_EQ(tamis_npy_write(path.c_str(), &array), TAMIS_OK) << tamis_last_error();
  Tensor tensor;
  ASSERT_EQ(tamis_npy_read(path.c_str(), &tensor), TAMIS_OK);
  tamis_array got{};
  ASSERT_EQ(tamis_tensor_get(tensor, &got), TAMIS_OK);
  ASSERT_EQ(got.rank, 2);
  EXPECT_EQ(std::vector<std::int64_t>(got.shape, got.shape + 2), shape);
  EXPECT_EQ(got.dtype, TAMIS_F64);
  const auto* values = static_cast<const double*>(got.data);
  EXPECT_EQ(std::vector<double>(values, values + 6), data);
  std::vector<float> floats(6);
  ASSERT_EQ(tamis_tensor_to_f32(tensor, floats.data(), 6), TAMIS_OK);
  EXPECT_EQ(floats[5], 6.0F);
  std::vector<double> doubles(6);
  ASSERT_EQ(tamis_tensor_to_f64(tensor, doubles.data(), 6), TAMIS_OK);
  EXPECT_EQ(doubles, data);
  expect_usage(tamis_tensor_to_f32(tensor, floats.data(), 5), "count");
  expect_usage(tamis_tensor_to_f64(tensor, nullptr, 6), "null");

  Tensor missing;
  EXPECT_EQ(tamis_npy_read((folder / "missing.npy").c_str(), &missing), TAMIS_INPUT);
  EXPECT_EQ(missing.handle, nullptr);
  EXPECT_NE(std::string(tamis_last_error()).find("missing.npy"), std::string::npos);
}

TEST(CApiFiles, NonsenseArraysAreNotWritten) {
  const Folder folder;
  const std::string path = folder / "a.npy";
  const double data = 1;
  const std::int64_t shape[] = {huge, huge};
  const std::int64_t negative[] = {-1};
  for (const tamis_array& array : {tamis_array{nullptr, shape, &data, 2, TAMIS_F64},
                                   tamis_array{nullptr, negative, &data, 1, TAMIS_F64},
                                   tamis_array{nullptr, nullptr, &data, 1, TAMIS_F64},
                                   tamis_array{nullptr, shape, &data, -1, TAMIS_F64},
                                   tamis_array{nullptr, shape, &data, 65, TAMIS_F64},
                                   tamis_array{nullptr, nullptr, &data, 0, 13},
                                   tamis_array{nullptr, nullptr, nullptr, 0, TAMIS_F64}}) {
    EXPECT_EQ(tamis_npy_write(path.c_str(), &array), TAMIS_USAGE) << tamis_last_error();
    EXPECT_FALSE(std::filesystem::exists(path));
  }
}

TEST(CApiFiles, TensorsAndMetadataComeBackFromSafetensors) {
  const Folder folder;
  const std::string path = folder / "a.safetensors";
  const std::vector<float> a{1, 2, 3};
  const std::uint8_t b = 9;
  const std::int64_t three = 3;
  const std::vector<tamis_array> arrays{{"a", &three, a.data(), 1, TAMIS_F32},
                                        {"b", nullptr, &b, 0, TAMIS_U8}};
  const std::vector<const char*> metadata{"model", "none", "seed", "7"};
  ASSERT_EQ(tamis_safetensors_write(path.c_str(), arrays.data(), 2, metadata.data(), 2), TAMIS_OK)
      << tamis_last_error();
  Safetensors file;
  ASSERT_EQ(tamis_safetensors_open(path.c_str(), &file), TAMIS_OK);
  std::size_t count = 0;
  ASSERT_EQ(tamis_safetensors_count(file, &count), TAMIS_OK);
  EXPECT_EQ(count, 2U);
  tamis_array info{};
  for (std::size_t i = 0; i < count; ++i) {
    ASSERT_EQ(tamis_safetensors_at(file, i, &info), TAMIS_OK);
    EXPECT_EQ(info.data, nullptr);
    EXPECT_EQ(info.dtype, std::string(info.name) == "a" ? TAMIS_F32 : TAMIS_U8);
  }
  expect_usage(tamis_safetensors_at(file, 2, &info), "tensor 2");
  const char* value = nullptr;
  ASSERT_EQ(tamis_safetensors_metadata(file, "seed", &value), TAMIS_OK);
  EXPECT_STREQ(value, "7");
  ASSERT_EQ(tamis_safetensors_metadata(file, "nothing", &value), TAMIS_OK);
  EXPECT_EQ(value, nullptr);
  Tensor tensor;
  ASSERT_EQ(tamis_safetensors_read(file, "a", &tensor), TAMIS_OK);
  tamis_safetensors_free(file.handle);  // tensors outlive the file they were read from
  file.handle = nullptr;
  ASSERT_EQ(tamis_tensor_get(tensor, &info), TAMIS_OK);
  EXPECT_STREQ(info.name, "a");
  EXPECT_EQ(static_cast<const float*>(info.data)[2], 3);
  Safetensors again;
  ASSERT_EQ(tamis_safetensors_open(path.c_str(), &again), TAMIS_OK);
  Tensor missing;
  EXPECT_EQ(tamis_safetensors_read(again, "c", &missing), TAMIS_INPUT);
  EXPECT_EQ(missing.handle, nullptr);

  const std::vector<const char*> twice{"seed", "7", "seed", "8"};
  expect_usage(tamis_safetensors_write(path.c_str(), arrays.data(), 2, twice.data(), 2), "seed");
  const std::vector<const char*> null_value{"seed", nullptr};
  expect_usage(tamis_safetensors_write(path.c_str(), arrays.data(), 2, null_value.data(), 1),
               "metadata");
  const tamis_array nameless{nullptr, nullptr, &b, 0, TAMIS_U8};
  expect_usage(tamis_safetensors_write(path.c_str(), &nameless, 1, nullptr, 0), "name");
}

TEST(CApiFiles, ATraceIsReadLayerByLayer) {
  const std::string path = std::string(TAMIS_DATA_DIR) + "/smollm2-kjv-8k-small.safetensors";
  const tamis::lab::Trace expected(path);
  Trace trace;
  ASSERT_EQ(tamis_trace_open(path.c_str(), &trace), TAMIS_OK) << tamis_last_error();
  tamis_trace_info info{};
  info.size = sizeof info;
  ASSERT_EQ(tamis_trace_get_info(trace, &info), TAMIS_OK);
  EXPECT_EQ(info.tokens, expected.tokens());
  EXPECT_EQ(info.layers, static_cast<std::int64_t>(expected.layers().size()));
  EXPECT_EQ(info.causal, expected.causal() ? 1 : 0);
  EXPECT_EQ(info.has_rotary, expected.rotary() ? 1 : 0);
  const std::int64_t* positions = nullptr;
  const std::int64_t* seen = nullptr;
  ASSERT_EQ(tamis_trace_positions(trace, &positions, &seen), TAMIS_OK);
  ASSERT_EQ(info.queries, static_cast<std::int64_t>(expected.positions().size()));
  for (std::size_t i = 0; i < expected.positions().size(); ++i) {
    EXPECT_EQ(positions[i], expected.positions()[i]);
    EXPECT_EQ(seen[i], expected.seen()[i]);
  }
  const char* scale = nullptr;
  ASSERT_EQ(tamis_trace_metadata(trace, "scale", &scale), TAMIS_OK);
  EXPECT_EQ(scale, expected.metadata().at("scale"));

  const tamis::lab::TraceLayer& first = expected.layers()[0];
  tamis_layer_info layer_info{};
  layer_info.size = sizeof layer_info;
  tamis_shape shape{};
  shape.size = sizeof shape;
  ASSERT_EQ(tamis_trace_layer(trace, 0, &layer_info, &shape), TAMIS_OK);
  EXPECT_EQ(layer_info.layer, first.layer);
  EXPECT_EQ(shape.query_heads, first.shape.query_heads);
  EXPECT_EQ(shape.kv_heads, first.shape.kv_heads);
  EXPECT_EQ(shape.head_dim, first.shape.head_dim);
  EXPECT_EQ(shape.scale, first.shape.scale);
  EXPECT_EQ(static_cast<tamis::DType>(shape.dtype), first.shape.dtype);

  Layer layer;
  ASSERT_EQ(tamis_layer_read(trace, 0, &layer), TAMIS_OK);
  const tamis::lab::LayerData data = expected.read(first);
  tamis_trace_free(trace.handle);  // layers outlive the trace
  trace.handle = nullptr;
  const float* q = nullptr;
  const void* k = nullptr;
  const void* v = nullptr;
  ASSERT_EQ(tamis_layer_get(layer, &q, &k, &v), TAMIS_OK);
  EXPECT_EQ(std::vector<float>(q, q + data.q.size()), data.q);
  EXPECT_EQ(std::memcmp(k, data.k.bytes().data(), data.k.bytes().size()), 0);
  EXPECT_EQ(std::memcmp(v, data.v.bytes().data(), data.v.bytes().size()), 0);
}

TEST(CApiFiles, LayersThatATraceDoesNotHaveAreRefused) {
  const std::string path = std::string(TAMIS_DATA_DIR) + "/smollm2-kjv-8k-small.safetensors";
  Trace trace;
  ASSERT_EQ(tamis_trace_open(path.c_str(), &trace), TAMIS_OK);
  Layer layer;
  for (const std::int64_t index : {std::int64_t{-1}, std::int64_t{1000}, huge}) {
    expect_usage(tamis_layer_read(trace, index, &layer), "layer");
    EXPECT_EQ(layer.handle, nullptr);
    expect_usage(tamis_trace_layer(trace, index, nullptr, nullptr), "layer");
  }
  tamis_layer_info unset{};
  expect_usage(tamis_trace_layer(trace, 0, &unset, nullptr), "sizeof(tamis_layer_info)");
  Trace missing;
  EXPECT_EQ(tamis_trace_open("no/such/trace.safetensors", &missing), TAMIS_INPUT);
  EXPECT_EQ(missing.handle, nullptr);
}

/// A trace of one layer, one head and two tokens, with everything optional.
std::string write_whole_trace(const Folder& folder) {
  std::string path = folder / "whole.safetensors";
  const std::int64_t one = 1;
  const std::vector<std::int64_t> q_shape{1, 1, 2};
  const std::vector<std::int64_t> k_shape{1, 2, 2};
  const std::vector<std::int64_t> w_shape{1, 3, 2};
  const std::int64_t position = 1;
  const std::vector<float> numbers{1, 2, 3, 4, 5, 6};
  const double norm = 2.5;
  const std::vector<tamis_array> arrays{
      {"positions", &one, &position, 1, TAMIS_I64},
      {"layers.4.q", q_shape.data(), numbers.data(), 3, TAMIS_F32},
      {"layers.4.k", k_shape.data(), numbers.data(), 3, TAMIS_F32},
      {"layers.4.v", k_shape.data(), numbers.data(), 3, TAMIS_F32},
      {"layers.4.w_q", w_shape.data(), numbers.data(), 3, TAMIS_F32},
      {"layers.4.w_k", w_shape.data(), numbers.data(), 3, TAMIS_F32},
      {"layers.4.w_norm", &one, &norm, 1, TAMIS_F64},
      {"layers.4.input_bound", &one, &norm, 1, TAMIS_F64}};
  const std::vector<const char*> metadata{"scale",      "0.5",   "causal",    "true",
                                          "rope_theta", "10000", "rope_dims", "2",
                                          "rope_style", "half"};
  EXPECT_EQ(tamis_safetensors_write(path.c_str(), arrays.data(), arrays.size(), metadata.data(), 5),
            TAMIS_OK)
      << tamis_last_error();
  return path;
}

TEST(CApiFiles, WeightsNormsBoundsAndRotaryOfATraceAreRead) {
  const Folder folder;
  Trace trace;
  ASSERT_EQ(tamis_trace_open(write_whole_trace(folder).c_str(), &trace), TAMIS_OK)
      << tamis_last_error();
  tamis_trace_info info{};
  info.size = sizeof info;
  ASSERT_EQ(tamis_trace_get_info(trace, &info), TAMIS_OK);
  EXPECT_EQ(info.has_rotary, 1);
  EXPECT_EQ(info.rotary_theta, 10000);
  EXPECT_EQ(info.rotary_dims, 2);
  EXPECT_EQ(info.rotary_interleaved, 0);
  tamis_layer_info layer{};
  layer.size = sizeof layer;
  ASSERT_EQ(tamis_trace_layer(trace, 0, &layer, nullptr), TAMIS_OK);
  EXPECT_EQ(layer.layer, 4);
  EXPECT_EQ(layer.has_weights, 1);
  EXPECT_EQ(layer.has_weight_norms, 1);
  EXPECT_EQ(layer.has_input_bound, 1);
  EXPECT_EQ(layer.input_bound, 2.5);
  Tensor w_q;
  Tensor w_k;
  ASSERT_EQ(tamis_layer_read_weights(trace, 0, &w_q, &w_k), TAMIS_OK);
  tamis_array array{};
  ASSERT_EQ(tamis_tensor_get(w_k, &array), TAMIS_OK);
  EXPECT_EQ(array.rank, 3);
  EXPECT_EQ(array.shape[1], 3);
  double norm = 0;
  ASSERT_EQ(tamis_layer_read_weight_norms(trace, 0, &norm, 1), TAMIS_OK);
  EXPECT_EQ(norm, 2.5);
  expect_usage(tamis_layer_read_weight_norms(trace, 0, &norm, 2), "count");

  Trace small;
  const std::string path = std::string(TAMIS_DATA_DIR) + "/smollm2-kjv-8k-small.safetensors";
  ASSERT_EQ(tamis_trace_open(path.c_str(), &small), TAMIS_OK);
  Tensor none_q;
  Tensor none_k;
  EXPECT_EQ(tamis_layer_read_weights(small, 0, &none_q, &none_k), TAMIS_INPUT);
  EXPECT_EQ(none_q.handle, nullptr);
}

TEST(CApiFiles, PatternsAreWrittenAndReadBack) {
  const Folder folder;
  const std::string path = folder / "p.mtx";
  const std::vector<std::int64_t> starts{0, 2, 3};
  const std::vector<std::int64_t> columns{0, 2, 1};
  const std::vector<double> values{0.5, 0.25, 1};
  const tamis_pattern_view view{
      sizeof(tamis_pattern_view), 2, 3, starts.data(), columns.data(), values.data()};
  ASSERT_EQ(tamis_pattern_write(path.c_str(), &view), TAMIS_OK) << tamis_last_error();
  Pattern pattern;
  ASSERT_EQ(tamis_pattern_read(path.c_str(), &pattern), TAMIS_OK);
  tamis_pattern_view got{};
  got.size = sizeof got;
  ASSERT_EQ(tamis_pattern_get(pattern, &got), TAMIS_OK);
  EXPECT_EQ(got.rows, 2);
  EXPECT_EQ(got.cols, 3);
  EXPECT_EQ(std::vector<std::int64_t>(got.row_start, got.row_start + 3), starts);
  EXPECT_EQ(std::vector<std::int64_t>(got.column, got.column + 3), columns);
  EXPECT_EQ(std::vector<double>(got.value, got.value + 3), values);
  const char* name = "";
  ASSERT_EQ(tamis_pattern_row_name(pattern, 0, &name), TAMIS_OK);
  EXPECT_EQ(name, nullptr);
  expect_usage(tamis_pattern_row_name(pattern, 2, &name), "row 2");
  expect_usage(tamis_pattern_column_name(pattern, -1, &name), "column -1");
}

TEST(CApiFiles, PatternsThatAreNoneAreNotWritten) {
  const Folder folder;
  const std::string path = folder / "p.mtx";
  const std::vector<std::int64_t> starts{0, 2, 3};
  const std::vector<std::int64_t> columns{0, 2, 1};
  const std::vector<double> values{0.5, 0.25, 1};
  const auto with = [&](const std::vector<std::int64_t>& s, const std::vector<std::int64_t>& c,
                        const std::vector<double>& v) {
    const tamis_pattern_view view{sizeof(tamis_pattern_view), 2, 3, s.data(), c.data(), v.data()};
    return tamis_pattern_write(path.c_str(), &view);
  };
  expect_usage(with({1, 2, 3}, columns, values), "row_start[0]");
  expect_usage(with({0, 0, 3}, columns, values), "every row");
  expect_usage(with({0, 3, 2}, columns, values), "row_start[2]");
  expect_usage(with(starts, {2, 0, 1}, values), "ascend");
  expect_usage(with(starts, {0, 3, 1}, values), "0 … 2");
  expect_usage(with(starts, {-1, 2, 1}, values), "ascend");
  expect_usage(with(starts, columns, {0.5, 0, 1}), "positive");
  expect_usage(with(starts, columns, {0.5, std::nan(""), 1}), "positive");
  tamis_pattern_view view{
      sizeof(tamis_pattern_view), huge, 3, starts.data(), columns.data(), values.data()};
  EXPECT_EQ(tamis_pattern_write(path.c_str(), &view), TAMIS_USAGE);
  view.rows = 0;
  EXPECT_EQ(tamis_pattern_write(path.c_str(), &view), TAMIS_USAGE);
  EXPECT_FALSE(std::filesystem::exists(path));
}

}  // namespace
}  // namespace tamis_c
