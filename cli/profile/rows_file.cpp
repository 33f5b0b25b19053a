// Writes the file of --rows: the figures of every row as safetensors.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <functional>

#include <tamis/info.h>
#include <tamis/lab/tensor.h>

#include "profile/report.h"

namespace tamis::cli {

void RowsFile::add(const lab::TraceLayer& layer, const lab::RowFigures& figures) {
  layers_.push_back({layer, figures, figures.entropy});
  for (double& x : layers_.back().support) x = std::exp(x);
}

void RowsFile::write(const std::string& path, const lab::Profile& profile) const {
  std::vector<lab::TensorRef> tensors;
  for (const Layer& kept : layers_) {
    const lab::RowFigures& rows = kept.figures;
    const auto add = [&](const char* field, DType dtype, const auto& values, std::size_t width) {
      lab::TensorInfo info{fmt::format("layers.{}.{}", kept.layer.layer, field),
                           dtype,
                           {kept.layer.shape.query_heads, kept.layer.shape.queries}};
      if (width > 0) info.shape.push_back(static_cast<std::int64_t>(width));
      tensors.push_back({info, values.data()});
    };
    add("n", DType::i64, rows.n, 0);
    add("k_eps", DType::i64, rows.k_eps, rows.eps.size());
    add("w_eps", DType::i64, rows.w_eps, rows.eps.size());
    add("null", DType::f64, rows.null, rows.eps.size());
    add("curve", DType::f64, rows.curve, rows.grid.size());
    add("top1", DType::f64, rows.top1, 0);
    add("entropy", DType::f64, rows.entropy, 0);
    add("effective_support", DType::f64, kept.support, 0);
    add("sink", DType::f64, rows.sink, 0);
    if (!rows.windows.empty()) add("window", DType::f64, rows.window, rows.windows.size());
    add("mean", DType::f64, rows.mean, 0);
    add("sigma", DType::f64, rows.sigma, 0);
    tensors.push_back({{fmt::format("layers.{}.grid", kept.layer.layer),
                        DType::i64,
                        {static_cast<std::int64_t>(rows.grid.size())}},
                       rows.grid.data()});
  }
  lab::write_safetensors(
      path, tensors,
      {{"format", "tamis-rows"},
       {"trace", profile.trace},
       {"eps", fmt::format("{}", fmt::join(profile.options.rows.eps, ","))},
       {"sinks", std::to_string(profile.options.rows.sinks)},
       {"windows", fmt::format("{}", fmt::join(profile.options.rows.windows, ","))},
       {"target", std::string(target())},
       {"tamis", std::string(version())}});
}

}  // namespace tamis::cli
