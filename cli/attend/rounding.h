// How far rounding can move dense attention of each query of a layer: the certificates of --dense,
// and the measure of what the f64 reference itself can be off by.
#pragma once

#include <vector>

#include <tamis/attention.h>
#include <tamis/lab/trace.h>

namespace tamis::cli {

/// By row. Reads Q, K and V once, for their norms.
std::vector<Rounding> layer_rounding(const lab::Trace& trace, const lab::TraceLayer& layer,
                                     const lab::LayerData& data);

}  // namespace tamis::cli
