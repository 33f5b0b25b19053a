// Replays a layer of a trace as decoding. Queries run in the order of the number of keys that they
// see, all heads of a query together, over a cache that has grown to just that length.
#pragma once

#include <span>

#include <tamis/attend.h>

#include "attend/result.h"
#include "terminal/progress.h"

namespace tamis::cli {

/// How a replay stores and reads keys and values.
struct ReplayOptions {
  int bits = 0;  ///< bits per number in the cache
  AttendOptions attend;
};

/// Appends the tokens that the first query sees at once, as a prompt, and later tokens one at a
/// time. Reads K and V once. Memory is that of the cache and the result.
LayerResult replay(const lab::Trace& trace, const lab::TraceLayer& layer,
                   const lab::LayerData& data, std::span<const Budget> budgets,
                   const ReplayOptions& options, Workspace& workspace, Progress& progress);

}  // namespace tamis::cli
