// A layer of a trace replayed as decode: its queries in the order of what they see, all heads of a
// query together, each over a cache that has grown to just that length.
#pragma once

#include <span>

#include <tamis/attend.h>

#include "attend/result.h"
#include "terminal/progress.h"

namespace tamis::cli {

/// How a replay stores and reads.
struct ReplayOptions {
  int bits = 0;  ///< of the cache
  AttendOptions attend;
};

/// What the first query sees is appended at once, as a prompt is, and from then on one token at a
/// time. Reads K and V once; memory: the cache and the result.
LayerResult replay(const lab::Trace& trace, const lab::TraceLayer& layer,
                   const lab::LayerData& data, std::span<const Budget> budgets,
                   const ReplayOptions& options, Workspace& workspace, Progress& progress);

}  // namespace tamis::cli
