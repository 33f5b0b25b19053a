// The stages of sparse attention, one after the other, for one piece of work: raw tokens, look,
// waterline, visit, certify. A budget that a waterline misses is tried again with a lower one.
#pragma once

#include "core/parallel.h"
#include "sieve/certify.h"

namespace tamis::sieve {

/// Scratch of the threads that work on spans: thread w uses memory(w), which is scratch_floats
/// long.
struct Threads {
  core::Crew crew;
  void* context;
  float* (*scratch)(void* context, int worker);
};

/// Floats that the stages of a problem keep, and those that a thread works with.
std::int64_t sparse_floats(const Problem& problem);
std::int64_t sparse_scratch(const Problem& problem);

/// Certificates with counts. `finite` is false where bounds are too wide or numbers leave their
/// range: then attention is dense.
Outcome attend_sparse(const Problem& problem, float* memory, const Threads& threads);

}  // namespace tamis::sieve
