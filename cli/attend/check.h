// The certificates of a layer against the truth: the same attention in f64 and plain loops.
#pragma once

#include "attend/result.h"
#include "terminal/progress.h"

namespace tamis::cli {

/// Fills in the true distances of outputs and log-sum-exps. Costs 4·pairs·d flops, on `threads`
/// threads.
void measure_outputs(const lab::Trace& trace, const lab::LayerData& data, int threads,
                     Progress& progress, LayerResult& result);

/// Counts the queries whose certificate does not hold for what was measured: output and
/// log-sum-exp. That tau bounds the weights cannot be seen in either, and is for the library's own
/// tests.
void count_violations(const lab::Trace& trace, const lab::LayerData& data, LayerResult& result);

}  // namespace tamis::cli
