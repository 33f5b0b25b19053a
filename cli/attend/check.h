// Checks the certificates of a layer against the same attention computed in f64 with plain loops.
#pragma once

#include "attend/result.h"
#include "terminal/progress.h"

namespace tamis::cli {

/// Fills in the true distances of outputs and log-sum-exps. Takes 4·pairs·d flops on `threads`
/// threads, where pairs is the number of query-key pairs.
void measure_outputs(const lab::Trace& trace, const lab::LayerData& data, int threads,
                     Progress& progress, LayerResult& result);

/// Counts the queries whose certificate does not hold for the measured output or log-sum-exp.
/// Neither shows whether tau bounds the weights; the library's own tests check that.
void count_violations(const lab::Trace& trace, const lab::LayerData& data, LayerResult& result);

}  // namespace tamis::cli
