// Dense attention of one layer of a trace, with a certificate for every query of every head.
#pragma once

#include <cstdint>
#include <vector>

#include <tamis/trace.h>

#include "terminal/progress.h"

namespace tamis::cli {

/// Row h·queries + i is query i of head h, in every array.
struct LayerResult {
  TraceLayer layer;
  std::vector<float> out;  ///< rows × value_dim
  std::vector<float> lse;
  std::vector<double> tau;        ///< certified: total-variation distance from exact attention
  std::vector<double> error;      ///< certified: ‖out − exact‖₂
  std::vector<double> lse_error;  ///< certified: |lse − exact|
  std::vector<std::int64_t> keys;
  std::vector<std::int64_t> bytes;
  double seconds = 0;  ///< in `dense` alone

  // Under --check only: distances from the f64 reference.
  std::vector<double> true_error;
  std::vector<double> true_lse_error;
  std::int64_t violations = 0;
};

/// Stages of the progress that the two functions below report; the unit of both is a query-key pair.
enum Stage : std::size_t { attention_stage, check_stage };
double pairs_of(const Trace& trace, const TraceLayer& layer);

/// Reads K and V once more than `dense` does, for the norms in the certificates. Memory: the result.
LayerResult attend_layer(const Trace& trace, const TraceLayer& layer, const LayerData& data,
                         Workspace& workspace, Progress& progress);

/// Computes the layer again in f64 and fills in true errors and violations. Costs 4·pairs·d flops in
/// plain loops, on `threads` threads.
void check_layer(const Trace& trace, const LayerData& data, int threads, Progress& progress,
                 LayerResult& result);

}  // namespace tamis::cli
