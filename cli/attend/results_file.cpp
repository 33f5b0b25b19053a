// Writes the file of --out: outputs and certificates as safetensors.
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <functional>

#include <tamis/info.h>
#include <tamis/lab/tensor.h>

#include "attend/report.h"

namespace tamis::cli {
namespace {

/// The certificates of a layer as arrays.
struct Columns {
  std::vector<double> tau;
  std::vector<double> error;
  std::vector<double> lse_error;
  std::vector<std::int64_t> keys;
  std::vector<std::int64_t> bytes;
  std::vector<std::uint8_t> grade;
  std::vector<std::uint8_t> dense;
  std::vector<std::uint8_t> reached;

  explicit Columns(const LayerResult& result) {
    for (const Certificate& certificate : result.certificates) {
      tau.push_back(certificate.tau);
      error.push_back(certificate.error);
      lse_error.push_back(certificate.lse_error);
      keys.push_back(result.whole_keys(certificate));
      bytes.push_back(certificate.bytes);
      grade.push_back(static_cast<std::uint8_t>(certificate.grade));
      dense.push_back(result.sparse() && certificate.dense == Dense::no ? 0 : 1);
      reached.push_back(static_cast<std::uint8_t>(certificate.reached));
    }
  }
};

}  // namespace

void write_results(const std::string& path, const lab::Trace& trace, const AttendReport& report) {
  std::vector<lab::TensorRef> tensors;
  std::vector<Columns> columns;
  columns.reserve(report.layers.size());
  for (const LayerResult& result : report.layers) {
    const Shape& shape = result.layer.shape;
    const std::vector<std::int64_t> per_query{shape.query_heads, shape.queries};
    const std::vector<std::int64_t> per_element{shape.query_heads, shape.queries, shape.value_dim};
    const Columns& certified = columns.emplace_back(result);
    const auto add = [&](const char* field, DType dtype, const auto& values, const auto& extents) {
      tensors.push_back({{fmt::format("layers.{}.{}", result.layer.layer, field), dtype, extents},
                         values.data()});
    };
    add("out", DType::f32, result.out, per_element);
    add("lse", DType::f32, result.lse, per_query);
    add("tau", DType::f64, certified.tau, per_query);
    add("error", DType::f64, certified.error, per_query);
    add("lse_error", DType::f64, certified.lse_error, per_query);
    add("keys", DType::i64, certified.keys, per_query);
    add("bytes", DType::i64, certified.bytes, per_query);
    add("grade", DType::u8, certified.grade, per_query);
    add("dense", DType::u8, certified.dense, per_query);
    if (result.sparse()) add("reached", DType::u8, certified.reached, per_query);
  }
  // With larger elements first, every tensor starts at a multiple of its element size.
  std::ranges::stable_sort(tensors, std::greater{},
                           [](const lab::TensorRef& tensor) { return size_of(tensor.info.dtype); });
  lab::Metadata metadata{{"format", "tamis-attention"},
                         {"trace", std::filesystem::path(trace.path()).filename().string()},
                         {"budget", report.reading ? report.reading->label : "dense"},
                         {"grades", "0: proved"},
                         {"target", std::string(target())},
                         {"backend", report.backend},
                         {"tamis", std::string(version())}};
  if (report.reading) metadata["bits"] = std::to_string(report.reading->bits);
  lab::write_safetensors(path, tensors, metadata);
}

}  // namespace tamis::cli
