#include "lab/experiments/trace_points.h"

#include <algorithm>

#include <tamis/text.h>

#include "core/fail.h"

namespace tamis::lab::experiments {

Json layer_parameters(const SweepTrace& trace, const TraceLayer& layer) {
  return {{"part", "trace"}, {"hash", trace.hash}, {"layer", layer.layer}};
}

const TraceLayer& layer_of(const SweepTrace& trace, const Json& parameters) {
  const std::int64_t wanted = parameters.at("layer");
  const auto layers = trace.trace.layers();
  const auto at = std::ranges::find(layers, wanted, &TraceLayer::layer);
  if (at == layers.end())
    core::fail(Code::input, "{} has no layer {}", printable(trace.name), wanted);
  return *at;
}

std::string trace_name(const GridRequest& request) {
  return request.trace == nullptr ? "the trace" : printable(request.trace->name);
}

double keys_seen(const Trace& trace) {
  double sum = 0;
  for (const std::int64_t n : trace.seen()) sum += static_cast<double>(n);
  return sum;
}

double profile_seconds(const SweepTrace& trace, const TraceLayer& layer) {
  const auto heads = static_cast<double>(layer.shape.query_heads);
  return 0.2 + heads * (0.005 + 8e-9 * keys_seen(trace.trace));
}

}  // namespace tamis::lab::experiments
