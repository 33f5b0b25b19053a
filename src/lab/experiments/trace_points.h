// Layers of a trace as parameters of points. A trace is identified only by the hash of its bytes,
// so it has the same points under another name.
#pragma once

#include <string>
#include <vector>

#include "lab/experiments/experiment.h"

namespace tamis::lab::experiments {

/// The parameters of a layer's point, to which an experiment adds its own.
Json layer_parameters(const SweepTrace& trace, const TraceLayer& layer);
/// Returns the layer that such parameters name. Throws `input` if the trace does not have it.
const TraceLayer& layer_of(const SweepTrace& trace, const Json& parameters);
/// The name of the requested trace, safe to print, or "the trace" if there is none.
std::string trace_name(const GridRequest& request);

/// Σ n over the queries of a trace, to which the time for a head is proportional.
double keys_seen(const Trace& trace);
/// Appends a point for every layer of the requested trace, if there is one. To the parameters of
/// the layer it adds eps, if the sweep has that axis, and seed, in this order.
void add_layers(std::vector<GridPoint>& points, const GridRequest& request);

}  // namespace tamis::lab::experiments
