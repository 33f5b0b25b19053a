// Traces: a safetensors file checked, field by field, against docs/trace.md. Opening reads the header,
// the positions and the input bounds; a layer's numbers are read, and checked to be finite, on demand.
#include <tamis/trace.h>

#include <algorithm>
#include <array>
#include <map>

#include "core/fail.h"
#include "io/tensor_values.h"
#include "io/text.h"

namespace tamis {
namespace {

constexpr std::array<std::string_view, 7> fields{"q", "k", "v", "w_q", "w_k", "w_norm", "input_bound"};
constexpr std::int64_t largest_dim = 1024;

std::string tensor_name(std::int64_t layer, std::string_view field) {
  return fmt::format("layers.{}.{}", layer, field);
}

/// What the checks of one file share: its name for messages, its metadata, its tensors.
class Checker {
 public:
  explicit Checker(const SafetensorsFile& file) : file_(file) {}

  template <class... Args>
  [[noreturn]] void fail_file(fmt::format_string<Args...> sentence, Args&&... args) const {
    fail(Code::input, "{}: {}", file_.path(), fmt::format(sentence, std::forward<Args>(args)...));
  }

  [[nodiscard]] const std::string* find_metadata(const std::string& key) const {
    const auto found = file_.metadata().find(key);
    return found == file_.metadata().end() ? nullptr : &found->second;
  }

  [[nodiscard]] const std::string& metadata(const std::string& key, std::string_view right) const {
    const std::string* value = find_metadata(key);
    if (value == nullptr) fail_file("the metadata has no '{}'; it must be {}", key, right);
    return *value;
  }

  [[noreturn]] void fail_metadata(std::string_view key, std::string_view value,
                                  std::string_view right) const {
    fail_file("metadata '{}' is {}; it must be {}", key, quote(value), right);
  }

  void check_format() const {
    const std::string* format = find_metadata("format");
    if (format != nullptr && *format != "tamis-trace") fail_metadata("format", *format, "'tamis-trace'");
    const std::string* version = find_metadata("version");
    if (version != nullptr && *version != "1")
      fail_metadata("version", *version, "'1', the only version this tamis reads");
  }

  [[nodiscard]] bool causal() const {
    constexpr std::string_view right = "'true' or 'false'";
    const std::string& value = metadata("causal", right);
    if (value != "true" && value != "false") fail_metadata("causal", value, right);
    return value == "true";
  }

  [[nodiscard]] float scale() const {
    constexpr std::string_view right = "a number such as '0.125', finite and not zero in f32";
    const std::string& value = metadata("scale", right);
    const auto scale = parse_f32(value);
    if (!scale || *scale == 0) fail_metadata("scale", value, right);
    return *scale;
  }

  /// All three rope entries or none; `head_dim` is the smallest of the layers.
  [[nodiscard]] std::optional<Rotary> rotary(std::int64_t head_dim) const {
    const std::string* theta_text = find_metadata("rope_theta");
    const std::string* dims_text = find_metadata("rope_dims");
    const std::string* style = find_metadata("rope_style");
    if (!theta_text && !dims_text && !style) return std::nullopt;
    if (!theta_text || !dims_text || !style)
      fail_file("the metadata must have all of rope_theta, rope_dims and rope_style, or none of them");
    const auto theta = parse_f64(*theta_text);
    if (!theta || *theta <= 0) fail_metadata("rope_theta", *theta_text, "a finite number above 0");
    const auto dims = parse_int(*dims_text);
    if (!dims || *dims < 2 || *dims > head_dim || *dims % 2 != 0)
      fail_metadata("rope_dims", *dims_text,
                    fmt::format("an even number from 2 to head_dim = {}", head_dim));
    if (*style != "half" && *style != "interleaved")
      fail_metadata("rope_style", *style, "'half' or 'interleaved'");
    return Rotary{*theta, *dims, *style == "interleaved"};
  }

  /// The layers that the tensor names speak of, each with its fields.
  [[nodiscard]] std::map<std::int64_t, std::vector<std::string_view>> layer_fields() const {
    std::map<std::int64_t, std::vector<std::string_view>> layers;
    for (const TensorInfo& tensor : file_.tensors()) {
      std::string_view rest = tensor.name;
      if (!rest.starts_with("layers.")) continue;
      rest.remove_prefix(7);
      const std::size_t dot = rest.find('.');
      const auto layer = parse_int(rest.substr(0, dot));
      const auto known =
          dot == std::string_view::npos ? fields.end() : std::ranges::find(fields, rest.substr(dot + 1));
      // Writing the number again refuses signs and leading zeros, by which one layer had two names.
      if (!layer || *layer < 0 || known == fields.end() || tensor_name(*layer, *known) != tensor.name)
        fail_file(
            "tensor {} is no part of a trace; names that begin with 'layers.' must be layers.L.F with L a "
            "layer's number and F one of {}",
            quote(tensor.name), fmt::join(fields, ", "));
      layers[*layer].push_back(*known);
    }
    return layers;
  }

  [[nodiscard]] const TensorInfo& tensor(const std::string& name, std::size_t rank,
                                         std::string_view form) const {
    const TensorInfo* info = file_.find(name);
    if (info == nullptr) fail_file("there is no tensor '{}'; a trace needs one of shape {}", name, form);
    if (info->shape.size() != rank || std::ranges::find(info->shape, 0) != info->shape.end())
      fail_file("tensor '{}' has shape {}; it must be {}, none of them zero", name, shape_text(info->shape),
                form);
    return *info;
  }

  void expect_shape(const TensorInfo& info, std::vector<std::int64_t> shape, std::string_view form) const {
    if (info.shape != shape)
      fail_file("tensor '{}' has shape {}; it must be {} = {}", info.name, shape_text(info.shape), form,
                shape_text(shape));
  }

  void expect_float(const TensorInfo& info, bool f64_too) const {
    if (!is_float(info.dtype) || (info.dtype == DType::f64 && !f64_too))
      fail_file("tensor '{}' has dtype {}; it must be {}", info.name, name_of(info.dtype),
                f64_too ? "f16, bf16, f32 or f64" : "f16, bf16 or f32");
  }

  /// Where element `at` of a tensor is: "[2, 8191, 63]".
  [[nodiscard]] static std::string index_text(const TensorInfo& info, std::int64_t at) {
    std::vector<std::int64_t> index(info.shape.size());
    for (std::size_t i = index.size(); i-- > 0; at /= info.shape[i]) index[i] = at % info.shape[i];
    return shape_text(index);
  }

  [[nodiscard]] Tensor read_finite(const std::string& name) const {
    Tensor tensor = file_.read(name);
    if (const auto at = first_not_finite(tensor))
      fail_file("tensor '{}' holds {} at {}; every element must be finite", name,
                tensor.to_f64()[static_cast<std::size_t>(*at)], index_text(tensor.info(), *at));
    return tensor;
  }

  /// Elements that must be finite and at least 0, or above it.
  [[nodiscard]] std::vector<double> read_bounds(const std::string& name, bool zero_allowed) const {
    std::vector<double> values = read_finite(name).to_f64();
    for (std::size_t i = 0; i < values.size(); ++i) {
      if (values[i] < 0 || (values[i] == 0 && !zero_allowed))
        fail_file("tensor '{}' holds {} at [{}]; it must be {}", name, values[i], i,
                  zero_allowed ? "0 or more" : "above 0");
    }
    return values;
  }

  [[nodiscard]] std::vector<std::int64_t> positions(std::int64_t tokens) const {
    const TensorInfo& info = tensor("positions", 1, "[queries]");
    if (is_float(info.dtype) || info.dtype == DType::boolean)
      fail_file("tensor 'positions' has dtype {}; it must be an integer type, best i64",
                name_of(info.dtype));
    // Exact where it matters: a file has fewer than 2^53 tokens, and f64 conversion keeps the order.
    const std::vector<double> values = file_.read("positions").to_f64();
    std::vector<std::int64_t> positions;
    positions.reserve(values.size());
    for (std::size_t i = 0; i < values.size(); ++i) {
      if (!(values[i] >= 0 && values[i] < static_cast<double>(tokens)))
        fail_file("tensor 'positions' holds {:.0f} at [{}]; it must be from 0 to {}, the last of {} tokens",
                  values[i], i, tokens - 1, tokens);
      positions.push_back(static_cast<std::int64_t>(values[i]));
    }
    return positions;
  }

  [[nodiscard]] TraceLayer layer(std::int64_t number, const std::vector<std::string_view>& has,
                                 float scale) const {
    const auto name = [number](std::string_view field) { return tensor_name(number, field); };
    const auto given = [&has](std::string_view field) {
      return std::ranges::find(has, field) != has.end();
    };
    const TensorInfo& q = tensor(name("q"), 3, "[query_heads, queries, head_dim]");
    const TensorInfo& k = tensor(name("k"), 3, "[kv_heads, tokens, head_dim]");
    const TensorInfo& v = tensor(name("v"), 3, "[kv_heads, tokens, value_dim]");
    for (const TensorInfo* info : {&q, &k, &v}) expect_float(*info, false);
    if (v.dtype != k.dtype)
      fail_file("tensor '{}' has dtype {} and '{}' has {}; k and v of a layer must have the same", k.name,
                name_of(k.dtype), v.name, name_of(v.dtype));
    expect_shape(k, {k.shape[0], k.shape[1], q.shape[2]}, "[kv_heads, tokens, head_dim of q]");
    expect_shape(v, {k.shape[0], k.shape[1], v.shape[2]}, "[kv_heads of k, tokens of k, value_dim]");
    if (q.shape[0] % k.shape[0] != 0)
      fail_file("tensor '{}' has {} heads and '{}' has {}; query heads must be a multiple of KV heads",
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
    if (given("w_q") || given("w_k")) {
      const TensorInfo& w_q = tensor(name("w_q"), 3, "[query_heads, hidden, head_dim]");
      const TensorInfo& w_k = tensor(name("w_k"), 3, "[kv_heads, hidden, head_dim]");
      expect_float(w_q, true);
      expect_float(w_k, true);
      expect_shape(w_q, {q.shape[0], w_q.shape[1], q.shape[2]}, "[query_heads, hidden, head_dim]");
      expect_shape(w_k, {k.shape[0], w_q.shape[1], q.shape[2]}, "[kv_heads, hidden of w_q, head_dim]");
      layer.has_weights = true;
    }
    if (given("w_norm")) {
      const TensorInfo& w_norm = tensor(name("w_norm"), 1, "[query_heads]");
      expect_float(w_norm, true);
      expect_shape(w_norm, {q.shape[0]}, "[query_heads]");
      layer.has_weight_norms = true;
    }
    if (given("input_bound")) {
      const TensorInfo& bound = tensor(name("input_bound"), 1, "[1]");
      expect_float(bound, true);
      expect_shape(bound, {1}, "[1]");
      layer.input_bound = read_bounds(bound.name, false).front();
    }
    return layer;
  }

 private:
  const SafetensorsFile& file_;
};

/// `layer` as the trace has it: what the caller holds may come from another trace.
const TraceLayer& own_layer(const Trace& trace, const TraceLayer& layer) {
  const auto found = std::ranges::find(trace.layers(), layer.layer, &TraceLayer::layer);
  if (found == trace.layers().end())
    fail(Code::usage, "{}: there is no layer {}", trace.path(), layer.layer);
  return *found;
}

}  // namespace

Trace::Trace(const std::string& path) : Trace(SafetensorsFile(path)) {}

Trace::Trace(SafetensorsFile file) : file_(std::move(file)) {
  const Checker check(file_);
  check.check_format();
  causal_ = check.causal();
  const float scale = check.scale();
  for (const auto& [number, has] : check.layer_fields()) layers_.push_back(check.layer(number, has, scale));
  if (layers_.empty()) check.fail_file("the trace has no layers; it needs tensors layers.L.q, .k and .v");

  const auto tokens_of = [this](const TraceLayer& layer) {
    return file_.find(tensor_name(layer.layer, "k"))->shape[1];
  };
  tokens_ = tokens_of(layers_.front());
  std::int64_t head_dim = largest_dim;
  for (const TraceLayer& layer : layers_) {
    if (tokens_of(layer) != tokens_)
      check.fail_file("layer {} has {} tokens and layer {} has {}; all layers must have the same",
                      layers_.front().layer, tokens_, layer.layer, tokens_of(layer));
    head_dim = std::min(head_dim, layer.shape.head_dim);
  }
  if (const std::string* text = check.find_metadata("tokens");
      text != nullptr && parse_int(*text) != tokens_)
    check.fail_metadata("tokens", *text, fmt::format("{}, the number of tokens of k", tokens_));

  positions_ = check.positions(tokens_);
  const auto queries = static_cast<std::int64_t>(positions_.size());
  for (const TraceLayer& layer : layers_) {
    if (layer.shape.queries != queries)
      check.fail_file("tensor '{}' has {} queries, but 'positions' has {}; they must be as many",
                      tensor_name(layer.layer, "q"), layer.shape.queries, queries);
  }
  for (const std::int64_t position : positions_) seen_.push_back(causal_ ? position + 1 : tokens_);
  rotary_ = check.rotary(head_dim);
}

LayerData Trace::read(const TraceLayer& layer) const {
  const std::int64_t number = own_layer(*this, layer).layer;
  const Checker check(file_);
  return {check.read_finite(tensor_name(number, "q")).to_f32(), check.read_finite(tensor_name(number, "k")),
          check.read_finite(tensor_name(number, "v"))};
}

LayerWeights Trace::read_weights(const TraceLayer& layer) const {
  const TraceLayer& own = own_layer(*this, layer);
  const Checker check(file_);
  if (!own.has_weights) check.fail_file("layer {} has no w_q and w_k", own.layer);
  return {check.read_finite(tensor_name(own.layer, "w_q")),
          check.read_finite(tensor_name(own.layer, "w_k"))};
}

std::vector<double> Trace::read_weight_norms(const TraceLayer& layer) const {
  const TraceLayer& own = own_layer(*this, layer);
  const Checker check(file_);
  if (!own.has_weight_norms) check.fail_file("layer {} has no w_norm", own.layer);
  return check.read_bounds(tensor_name(own.layer, "w_norm"), true);
}

}  // namespace tamis
