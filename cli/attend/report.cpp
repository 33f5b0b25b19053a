#include "attend/report.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <functional>
#include <nlohmann/json.hpp>
#include <numeric>

#include <tamis/info.h>

#include "terminal/json.h"
#include "terminal/table.h"

namespace tamis::cli {
namespace {

using nlohmann::ordered_json;

/// One field of all layers in one array.
template <class T>
std::vector<T> gather(std::span<const LayerResult> layers, std::vector<T> LayerResult::*field) {
  std::vector<T> all;
  for (const LayerResult& result : layers)
    all.insert(all.end(), (result.*field).begin(), (result.*field).end());
  return all;
}

/// The smallest value that a share `rank` of the values does not exceed.
double quantile(const std::vector<double>& sorted, double rank) {
  const auto place = static_cast<std::size_t>(std::ceil(rank * static_cast<double>(sorted.size())));
  return sorted[std::max<std::size_t>(place, 1) - 1];
}

ordered_json summary(std::vector<double> values) {
  std::ranges::sort(values);
  return {{"median", quantile(values, 0.5)}, {"p90", quantile(values, 0.9)}, {"max", values.back()}};
}

ordered_json certified(std::span<const LayerResult> layers, bool checked,
                       std::vector<double> LayerResult::*bound, std::vector<double> LayerResult::*truth) {
  ordered_json json = summary(gather(layers, bound));
  if (checked) json["true"] = summary(gather(layers, truth));
  return json;
}

double largest(const std::vector<double>& values) { return *std::ranges::max_element(values); }

/// Keys and bytes that dense attention reads once per KV head and query position.
std::int64_t dense_keys(const Trace& trace, const Shape& shape) {
  return shape.kv_heads * std::accumulate(trace.seen().begin(), trace.seen().end(), std::int64_t{0});
}

std::int64_t dense_bytes(const Trace& trace, const Shape& shape) {
  return dense_keys(trace, shape) * (shape.head_dim + shape.value_dim) * size_of(shape.dtype);
}

/// Shares of dense of what dense itself reads, with the total that 1 stands for.
ordered_json whole(std::int64_t total) {
  return {{"median", 1.0}, {"p90", 1.0}, {"max", 1.0}, {"dense", total}};
}

ordered_json layer_json(const Trace& trace, const LayerResult& result, bool checked) {
  const Shape& shape = result.layer.shape;
  const std::span one(&result, 1);
  return {{"layer", result.layer.layer},
          {"query_heads", shape.query_heads},
          {"kv_heads", shape.kv_heads},
          {"queries", shape.queries},
          {"tokens", trace.tokens()},
          {"dtype", name_of(shape.dtype)},
          {"seconds", result.seconds},
          {"violations", checked ? ordered_json(result.violations) : ordered_json()},
          {"tau", summary(result.tau)},
          {"error", certified(one, checked, &LayerResult::error, &LayerResult::true_error)},
          {"lse_error", certified(one, checked, &LayerResult::lse_error, &LayerResult::true_lse_error)},
          {"bytes", dense_bytes(trace, shape)}};
}

}  // namespace

std::int64_t AttendReport::violations() const {
  std::int64_t sum = 0;
  for (const LayerResult& result : layers) sum += result.violations;
  return sum;
}

std::string json_text(const Trace& trace, const AttendReport& report) {
  std::int64_t queries = 0;
  std::int64_t keys = 0;
  std::int64_t bytes = 0;
  double seconds = 0;
  ordered_json layers = ordered_json::array();
  for (const LayerResult& result : report.layers) {
    queries += result.layer.shape.rows();
    keys += dense_keys(trace, result.layer.shape);
    bytes += dense_bytes(trace, result.layer.shape);
    seconds += result.seconds;
    layers.push_back(layer_json(trace, result, report.checked));
  }
  const ordered_json json{
      {"trace", trace.path()},
      {"budget", "dense"},
      {"queries", queries},
      {"checked", report.checked},
      {"violations", report.checked ? ordered_json(report.violations()) : ordered_json()},
      {"dense_fallbacks", 0},
      {"tau", summary(gather(report.layers, &LayerResult::tau))},
      {"error", certified(report.layers, report.checked, &LayerResult::error, &LayerResult::true_error)},
      {"lse_error",
       certified(report.layers, report.checked, &LayerResult::lse_error, &LayerResult::true_lse_error)},
      {"bytes", whole(bytes)},
      {"keys", whole(keys)},
      {"layers", layers},
      {"target", target()},
      {"backend", report.backend},
      {"threads", report.threads},
      {"seconds", seconds},
      {"version", version()}};
  return json_text(json);
}

std::string table_text(const Trace& trace, const AttendReport& report) {
  std::vector<std::string> heading{"layer", "heads", "KV",     "queries", "tokens",
                                   "ms",    "MB",    "tau <=", "error <="};
  if (report.checked) heading.insert(heading.end(), {"true error", "lse <=", "true lse", "violations"});
  std::vector<std::vector<std::string>> rows{heading};
  std::int64_t queries = 0;
  double seconds = 0;
  for (const LayerResult& result : report.layers) {
    const Shape& shape = result.layer.shape;
    queries += shape.rows();
    seconds += result.seconds;
    std::vector<std::string> row{
        std::to_string(result.layer.layer),
        std::to_string(shape.query_heads),
        std::to_string(shape.kv_heads),
        std::to_string(shape.queries),
        std::to_string(trace.tokens()),
        fmt::format("{:.1f}", 1e3 * result.seconds),
        fmt::format("{:.1f}", 1e-6 * static_cast<double>(dense_bytes(trace, shape))),
        fmt::format("{:.1e}", largest(result.tau)),
        fmt::format("{:.1e}", largest(result.error))};
    if (report.checked)
      for (std::string& cell : std::vector<std::string>{
               fmt::format("{:.1e}", largest(result.true_error)),
               fmt::format("{:.1e}", largest(result.lse_error)),
               fmt::format("{:.1e}", largest(result.true_lse_error)), std::to_string(result.violations)})
        row.push_back(std::move(cell));
    rows.push_back(std::move(row));
  }
  std::string text = table_text(rows);
  text += fmt::format("\n{} queries, dense, {:.3f} s on {} threads ({})", queries, seconds, report.threads,
                      target());
  text += report.checked ? fmt::format("; {} violations against the f64 reference.\n", report.violations())
                         : "; certified, not checked.\n";
  return text;
}

void write_results(const std::string& path, const Trace& trace, const AttendReport& report) {
  std::vector<TensorRef> tensors;
  std::vector<std::vector<std::uint8_t>> grades;
  grades.reserve(report.layers.size());
  for (const LayerResult& result : report.layers) {
    const Shape& shape = result.layer.shape;
    const std::vector<std::int64_t> per_query{shape.query_heads, shape.queries};
    const std::vector<std::int64_t> per_element{shape.query_heads, shape.queries, shape.value_dim};
    grades.emplace_back(static_cast<std::size_t>(shape.rows()), std::uint8_t{0});
    const auto add = [&](const char* field, DType dtype, const auto& values, const auto& extents) {
      tensors.push_back(
          {{fmt::format("layers.{}.{}", result.layer.layer, field), dtype, extents}, values.data()});
    };
    add("out", DType::f32, result.out, per_element);
    add("lse", DType::f32, result.lse, per_query);
    add("tau", DType::f64, result.tau, per_query);
    add("error", DType::f64, result.error, per_query);
    add("keys", DType::i64, result.keys, per_query);
    add("bytes", DType::i64, result.bytes, per_query);
    add("grade", DType::u8, grades.back(), per_query);
  }
  // Larger elements first: then every tensor starts at a multiple of its element's size.
  std::ranges::stable_sort(tensors, std::greater{},
                           [](const TensorRef& tensor) { return size_of(tensor.info.dtype); });
  write_safetensors(path, tensors,
                    {{"format", "tamis-attention"},
                     {"trace", std::filesystem::path(trace.path()).filename().string()},
                     {"budget", "dense"},
                     {"grades", "0: proved"},
                     {"target", std::string(target())},
                     {"backend", report.backend},
                     {"tamis", std::string(version())}});
}

}  // namespace tamis::cli
