#include "lab/io/trace_checks.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <array>

#include "core/text.h"
#include "lab/io/tensor_values.h"

namespace tamis::lab::io {
namespace {

constexpr std::array<std::string_view, 7> fields{"q",   "k",      "v",          "w_q",
                                                 "w_k", "w_norm", "input_bound"};

/// The index of element `at` of a tensor, such as "[2, 8191, 63]".
std::string index_text(const TensorInfo& info, std::int64_t at) {
  std::vector<std::int64_t> index(info.shape.size());
  for (std::size_t i = index.size(); i-- > 0; at /= info.shape[i]) index[i] = at % info.shape[i];
  return core::shape_text(index);
}

}  // namespace

std::string tensor_name(std::int64_t layer, std::string_view field) {
  return fmt::format("layers.{}.{}", layer, field);
}

const std::string* TraceChecks::find_metadata(const std::string& key) const {
  const auto found = file_.metadata().find(key);
  return found == file_.metadata().end() ? nullptr : &found->second;
}

const std::string& TraceChecks::metadata(const std::string& key, std::string_view right) const {
  const std::string* value = find_metadata(key);
  if (value == nullptr) fail_file("the metadata has no '{}'; it must be {}", key, right);
  return *value;
}

void TraceChecks::fail_metadata(std::string_view key, std::string_view value,
                                std::string_view right) const {
  fail_file("metadata '{}' is {}; it must be {}", key, core::quote(value), right);
}

void TraceChecks::check_format() const {
  const std::string* format = find_metadata("format");
  if (format != nullptr && *format != "tamis-trace")
    fail_metadata("format", *format, "'tamis-trace'");
  const std::string* version = find_metadata("version");
  if (version != nullptr && *version != "1")
    fail_metadata("version", *version, "'1', the only version this tamis reads");
}

bool TraceChecks::causal() const {
  constexpr std::string_view right = "'true' or 'false'";
  const std::string& value = metadata("causal", right);
  if (value != "true" && value != "false") fail_metadata("causal", value, right);
  return value == "true";
}

float TraceChecks::scale() const {
  constexpr std::string_view right = "a number such as '0.125', finite and not zero in f32";
  const std::string& value = metadata("scale", right);
  const auto scale = core::parse_f32(value);
  if (!scale || *scale == 0) fail_metadata("scale", value, right);
  return *scale;
}

void TraceChecks::check_tokens(std::int64_t tokens) const {
  const std::string* text = find_metadata("tokens");
  if (text != nullptr && core::parse_int(*text) != tokens)
    fail_metadata("tokens", *text, fmt::format("{}, the number of tokens of k", tokens));
}

std::optional<Rotary> TraceChecks::rotary(std::int64_t head_dim) const {
  const std::string* theta_text = find_metadata("rope_theta");
  const std::string* dims_text = find_metadata("rope_dims");
  const std::string* style = find_metadata("rope_style");
  if (!theta_text && !dims_text && !style) return std::nullopt;
  if (!theta_text || !dims_text || !style)
    fail_file(
        "the metadata must have all of rope_theta, rope_dims and rope_style, or none of them");
  const auto theta = core::parse_f64(*theta_text);
  if (!theta || *theta <= 0) fail_metadata("rope_theta", *theta_text, "a finite number above 0");
  const auto dims = core::parse_int(*dims_text);
  if (!dims || *dims < 2 || *dims > head_dim || *dims % 2 != 0)
    fail_metadata("rope_dims", *dims_text,
                  fmt::format("an even number from 2 to head_dim = {}", head_dim));
  if (*style != "half" && *style != "interleaved")
    fail_metadata("rope_style", *style, "'half' or 'interleaved'");
  return Rotary{*theta, *dims, *style == "interleaved"};
}

std::map<std::int64_t, std::vector<std::string_view>> TraceChecks::layer_fields() const {
  std::map<std::int64_t, std::vector<std::string_view>> layers;
  for (const TensorInfo& tensor : file_.tensors()) {
    std::string_view rest = tensor.name;
    if (!rest.starts_with("layers.")) continue;
    rest.remove_prefix(7);
    const std::size_t dot = rest.find('.');
    const auto layer = core::parse_int(rest.substr(0, dot));
    const auto known = dot == std::string_view::npos
                           ? fields.end()
                           : std::ranges::find(fields, rest.substr(dot + 1));
    // Writing the number again refuses signs and leading zeros, which would give a layer two names.
    if (!layer || *layer < 0 || known == fields.end() || tensor_name(*layer, *known) != tensor.name)
      fail_file(
          "tensor {} is no part of a trace; names that begin with 'layers.' must be layers.L.F "
          "with L a layer's number and F one of {}",
          core::quote(tensor.name), fmt::join(fields, ", "));
    layers[*layer].push_back(*known);
  }
  return layers;
}

const TensorInfo& TraceChecks::tensor(const std::string& name, std::size_t rank,
                                      std::string_view form) const {
  const TensorInfo* info = file_.find(name);
  if (info == nullptr)
    fail_file("there is no tensor '{}'; a trace needs one of shape {}", name, form);
  if (info->shape.size() != rank || std::ranges::find(info->shape, 0) != info->shape.end())
    fail_file("tensor '{}' has shape {}; it must be {}, none of them zero", name,
              core::shape_text(info->shape), form);
  return *info;
}

void TraceChecks::expect_shape(const TensorInfo& info, const std::vector<std::int64_t>& shape,
                               std::string_view form) const {
  if (info.shape != shape)
    fail_file("tensor '{}' has shape {}; it must be {} = {}", info.name,
              core::shape_text(info.shape), form, core::shape_text(shape));
}

void TraceChecks::expect_float(const TensorInfo& info, bool f64_too) const {
  if (!is_float(info.dtype) || (info.dtype == DType::f64 && !f64_too))
    fail_file("tensor '{}' has dtype {}; it must be {}", info.name, tamis::name_of(info.dtype),
              f64_too ? "f16, bf16, f32 or f64" : "f16, bf16 or f32");
}

Tensor TraceChecks::read_finite(const std::string& name) const {
  Tensor tensor = file_.read(name);
  if (const auto at = first_not_finite(tensor)) {
    const DType dtype = tensor.info().dtype;
    double element = 0;
    convert_to_f64(dtype, tensor.bytes().data() + *at * size_of(dtype), {&element, 1});
    fail_file("tensor '{}' holds {} at {}; every element must be finite", name, element,
              index_text(tensor.info(), *at));
  }
  return tensor;
}

std::vector<double> TraceChecks::read_bounds(const std::string& name, bool zero_allowed) const {
  std::vector<double> values = read_finite(name).to_f64();
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (values[i] < 0 || (values[i] == 0 && !zero_allowed))
      fail_file("tensor '{}' holds {} at [{}]; it must be {}", name, values[i], i,
                zero_allowed ? "0 or more" : "above 0");
  }
  return values;
}

std::vector<std::int64_t> TraceChecks::positions(std::int64_t tokens) const {
  const TensorInfo& info = tensor("positions", 1, "[queries]");
  if (is_float(info.dtype) || info.dtype == DType::boolean)
    fail_file("tensor 'positions' has dtype {}; it must be an integer type, best i64",
              tamis::name_of(info.dtype));
  // Doubles are exact where it matters: no file has 2^53 tokens, and converting keeps the order.
  const Tensor held = file_.read("positions");
  const std::vector<double> values = held.to_f64();
  std::vector<std::int64_t> positions;
  positions.reserve(values.size());
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (!(values[i] >= 0 && values[i] < static_cast<double>(tokens)))
      fail_file(
          "tensor 'positions' holds {} at [{}]; it must be from 0 to {}, the last of {} tokens",
          integer_text(info.dtype,
                       held.bytes().data() + i * static_cast<std::size_t>(size_of(info.dtype))),
          i, tokens - 1, tokens);
    positions.push_back(static_cast<std::int64_t>(values[i]));
  }
  return positions;
}

TraceLayer TraceChecks::layer(std::int64_t number, const std::vector<std::string_view>& given,
                              float scale) const {
  const auto name = [number](std::string_view field) { return tensor_name(number, field); };
  const TensorInfo& q = tensor(name("q"), 3, "[query_heads, queries, head_dim]");
  const TensorInfo& k = tensor(name("k"), 3, "[kv_heads, tokens, head_dim]");
  const TensorInfo& v = tensor(name("v"), 3, "[kv_heads, tokens, value_dim]");
  for (const TensorInfo* info : {&q, &k, &v}) expect_float(*info, false);
  if (v.dtype != k.dtype)
    fail_file("tensor '{}' has dtype {} and '{}' has {}; k and v of a layer must have the same",
              k.name, tamis::name_of(k.dtype), v.name, tamis::name_of(v.dtype));
  expect_shape(k, {k.shape[0], k.shape[1], q.shape[2]}, "[kv_heads, tokens, head_dim of q]");
  expect_shape(v, {k.shape[0], k.shape[1], v.shape[2]}, "[kv_heads of k, tokens of k, value_dim]");
  if (q.shape[0] % k.shape[0] != 0)
    fail_file(
        "tensor '{}' has {} heads and '{}' has {}; query heads must be a multiple of KV heads",
        q.name, q.shape[0], k.name, k.shape[0]);
  for (const TensorInfo* info : {&q, &v}) {
    if (info->shape[2] > largest_dim)
      fail_file("tensor '{}' has heads of {} dimensions; at most {} are allowed", info->name,
                info->shape[2], largest_dim);
  }

  TraceLayer layer;
  layer.layer = number;
  layer.shape = {.query_heads = q.shape[0],
                 .kv_heads = k.shape[0],
                 .queries = q.shape[1],
                 .head_dim = q.shape[2],
                 .value_dim = v.shape[2],
                 .dtype = k.dtype,
                 .scale = scale};
  layer.query_dtype = q.dtype;
  check_optional(layer, given);
  return layer;
}

void TraceChecks::check_optional(TraceLayer& layer,
                                 const std::vector<std::string_view>& given) const {
  const auto name = [&layer](std::string_view field) { return tensor_name(layer.layer, field); };
  const auto has = [&given](std::string_view field) {
    return std::ranges::find(given, field) != given.end();
  };
  const Shape& shape = layer.shape;
  if (has("w_q") || has("w_k")) {
    const TensorInfo& w_q = tensor(name("w_q"), 3, "[query_heads, hidden, head_dim]");
    const TensorInfo& w_k = tensor(name("w_k"), 3, "[kv_heads, hidden, head_dim]");
    const std::int64_t hidden = w_q.shape[1];
    expect_float(w_q, true);
    expect_float(w_k, true);
    expect_shape(w_q, {shape.query_heads, hidden, shape.head_dim},
                 "[query_heads, hidden, head_dim]");
    expect_shape(w_k, {shape.kv_heads, hidden, shape.head_dim},
                 "[kv_heads, hidden of w_q, head_dim]");
    layer.has_weights = true;
  }
  if (has("w_norm")) {
    const TensorInfo& w_norm = tensor(name("w_norm"), 1, "[query_heads]");
    expect_float(w_norm, true);
    expect_shape(w_norm, {shape.query_heads}, "[query_heads]");
    layer.has_weight_norms = true;
  }
  if (has("input_bound")) {
    const TensorInfo& bound = tensor(name("input_bound"), 1, "[1]");
    expect_float(bound, true);
    if (bound.shape[0] != 1)
      fail_file("tensor '{}' has shape {}; it must be [1]", bound.name,
                core::shape_text(bound.shape));
    layer.input_bound = read_bounds(bound.name, false).front();
  }
}

}  // namespace tamis::lab::io
