// Makes witnesses by the paper's construction (Theorem 0.4, Corollary 0.7). The logits are
// (n/m)·B·P, where P is a random projection of rank m that is redrawn until they satisfy (23),
// (24).
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include <tamis/progress.h>

#include "lab/realise/candidate.h"
#include "lab/realise/jl/target.h"

namespace tamis::lab::realisation {

struct JlOptions {
  std::int64_t dim = 0;      ///< m, the columns of q and k; the paper's d is 2m
  std::int64_t redraws = 0;  ///< most draws; 0 takes n, as the paper does
  std::int64_t hidden = 0;   ///< d_hid of the paper's form, at least 2m; 0: no such form
  std::uint64_t seed = 0;
  int threads = 0;  ///< 0 takes every core
};

struct JlWitness {
  /// q = √(n/m)·B·Z and k = √(n/m)·Z, Z orthonormal with ZZᵀ = P. Its inputs, if they were asked
  /// for: x holds q, k and zeros; w_q and w_k have the paper's d = 2m columns and depend on the
  /// sizes alone.
  Candidate candidate;
  std::int64_t redraws = 0;  ///< draws made, the accepted one included
};

/// Returns a witness from the first draw that satisfies every condition in f64, or nothing. A draw
/// costs what docs/jl.md says; the witness then costs about 2·n²·m multiply-adds in f64. Throws
/// `input` for a pattern that is not square, or not causal where it must be; `usage` for m outside
/// 1 … n, d_hid below 2m, and conditions that are weak or outside their range. Safe to call
/// concurrently.
std::optional<JlWitness> jl_witness(const Pattern& pattern, const Conditions& conditions,
                                    const JlOptions& options,
                                    const ProgressCallback& progress = {});

}  // namespace tamis::lab::realisation
