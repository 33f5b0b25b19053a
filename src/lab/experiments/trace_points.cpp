#include "lab/experiments/trace_points.h"

#include <tamis/text.h>

namespace tamis::lab::experiments {
namespace {

/// A guess at the seconds that profiling a layer takes on one core.
double profile_seconds(const SweepTrace& trace, const TraceLayer& layer) {
  const auto heads = static_cast<double>(layer.shape.query_heads);
  return 0.2 + heads * (0.005 + 8e-9 * keys_seen(trace.trace));
}

}  // namespace

Json layer_parameters(const SweepTrace& trace, const TraceLayer& layer) {
  return {{"part", "trace"}, {"hash", trace.hash}, {"layer", layer.layer}};
}

const TraceLayer& layer_of(const SweepTrace& trace, const Json& parameters) {
  return trace.trace.layer(parameters.at("layer"));
}

std::string trace_name(const GridRequest& request) {
  return request.trace == nullptr ? "the trace" : printable(request.trace->name);
}

double keys_seen(const Trace& trace) {
  double sum = 0;
  for (const std::int64_t n : trace.seen()) sum += static_cast<double>(n);
  return sum;
}

void add_layers(std::vector<GridPoint>& points, const GridRequest& request) {
  if (request.trace == nullptr) return;
  for (const TraceLayer& layer : request.trace->trace.layers()) {
    Json parameters = layer_parameters(*request.trace, layer);
    if (request.has("eps")) parameters["eps"] = request.value("eps");
    parameters["seed"] = request.seed;
    points.push_back({std::move(parameters), profile_seconds(*request.trace, layer)});
  }
}

}  // namespace tamis::lab::experiments
