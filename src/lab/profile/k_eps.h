// Computes k_eps of one row. The result is exact for the given f32 logits.
#pragma once

#include <cstdint>

#include "lab/profile/ranking.h"

namespace tamis::lab::profiling {

struct KEpsRow {
  const kernels::RowKernels& kernels;
  const float* s;  ///< logits in units of log 2
  std::int64_t n;
  float top;
  /// `bucket` must be as it was when the ranking was made; `weights` may be overwritten.
  const RowScratch& scratch;
};

/// Returns the fewest keys that can be kept such that the dropped mass is at most eps·(1 +
/// eps_slack). Uses the f32 weights with a bound on their rounding errors first; if these
/// leave more than one answer, f64 weights of the whole row (about 4 ns per key); if those
/// do too, `reference_k_eps`.
std::int64_t k_eps(const KEpsRow& row, Ranking& ranking, double eps);

}  // namespace tamis::lab::profiling
