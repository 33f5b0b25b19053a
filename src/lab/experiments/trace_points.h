// Layers of a trace as parameters of points. A trace is known by the hash of its bytes alone: under
// another name it has the same points.
#pragma once

#include <string>

#include "lab/experiments/experiment.h"

namespace tamis::lab::experiments {

/// Parameters of a layer's point, to which an experiment adds its own.
Json layer_parameters(const SweepTrace& trace, const TraceLayer& layer);
/// The layer that such parameters name. Throws `input` if it is not there.
const TraceLayer& layer_of(const SweepTrace& trace, const Json& parameters);
/// Of the trace that is asked for, fit to be shown; "the trace" if there is none.
std::string trace_name(const GridRequest& request);

/// Σ n over the queries of a trace: what the time of a head is made of.
double keys_seen(const Trace& trace);
/// A guess at the time of profiling a layer on one core.
double profile_seconds(const SweepTrace& trace, const TraceLayer& layer);

}  // namespace tamis::lab::experiments
