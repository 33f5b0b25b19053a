// The certificates of a layer against the truth: the same attention in f64 and plain loops.
#pragma once

#include "attend/replay.h"
#include "attend/result.h"
#include "terminal/progress.h"

namespace tamis::cli {

/// Fills in the true distances of outputs and log-sum-exps. Costs 4·pairs·d flops, on `threads` threads.
void measure_outputs(const Trace& trace, const LayerData& data, int threads, Progress& progress,
                     LayerResult& result);

/// Fills in the true total-variation distances. Takes every step again, this time asking for its weights,
/// and throws `internal` if it does not give the same bits. Costs 2·pairs·d flops besides; memory: K in
/// f32, and heads × tokens weights.
void measure_weights(const Trace& trace, const LayerData& data, const Replay& replay, Workspace& workspace,
                     Progress& progress, LayerResult& result);

/// Counts the queries whose certificate does not hold for what was measured.
void count_violations(const Trace& trace, const LayerData& data, LayerResult& result);

}  // namespace tamis::cli
