// The papers' budgets, which leave keys out: the K keys of largest weight, or a window. Raw tokens
// are always used, and come on top. What is left out is bounded by what the first look says about
// it.
#pragma once

#include "sieve/visit.h"

namespace tamis::sieve {

/// Floats that `drop` keeps besides look and visits.
std::int64_t dropping_floats(const Problem& problem);

/// Fills in the visits for a budget of kind topk, power or window; overwrites the weights of the
/// look. Keys that are used are read to their last level, and so are their values.
void visit_some(const Problem& problem, const Look& look, float* memory, float* scratch,
                const Visits& visits);

}  // namespace tamis::sieve
