// k_eps of one row, exactly that of its logits.
#pragma once

#include <cstdint>

#include "lab/profile/ranking.h"

namespace tamis::lab::profiling {

struct KEpsRow {
  const kernels::RowKernels& kernels;
  const float* s;  ///< logits in units of log 2
  std::int64_t n;
  float top;
  const RowScratch& scratch;  ///< `bucket` as the order was made from; `weights` may be overwritten
};

/// The fewest keys whose dropped mass is at most eps·(1 + eps_slack). First from the f32 weights
/// with a bound on their rounding; where that leaves more than one answer, from f64 weights of the
/// whole row (about 4 ns per key); where that does, by `reference_k_eps`.
std::int64_t k_eps(const KEpsRow& row, Ranking& ranking, double eps);

}  // namespace tamis::lab::profiling
