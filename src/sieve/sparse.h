// Runs the stages of sparse attention for one work item, one after the other: raw tokens,
// look, waterline, visit, certify. If the result misses the budget, the visit is repeated
// with another waterline.
#pragma once

#include "core/parallel.h"
#include "sieve/certify.h"

namespace tamis::sieve {

/// The threads that work on spans. Thread w uses scratch(context, w), which must have
/// sparse_scratch() floats.
struct Threads {
  core::Crew crew;
  void* context;
  float* (*scratch)(void* context, int worker);
};

/// Floats of memory for the results of the stages of a problem.
std::int64_t sparse_floats(const Problem& problem);
/// Floats of scratch memory for each thread.
std::int64_t sparse_scratch(const Problem& problem);

/// Returns outputs and complete certificates, in `memory` of sparse_floats() floats. `finite` is
/// false if bounds are too wide or numbers leave their range; attention must be dense then.
Outcome attend_sparse(const Problem& problem, float* memory, const Threads& threads);

}  // namespace tamis::sieve
