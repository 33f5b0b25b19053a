// The budgets that leave keys out, which are known from the literature: the K keys of largest
// weight, or a window. Raw tokens are used in addition. The weight of the keys that are left out is
// bounded by their estimates from the first look or a deeper level.
#pragma once

#include "sieve/visit.h"

namespace tamis::sieve {

/// Floats of memory that visit_some needs besides the look and the visits.
std::int64_t dropping_floats(const Problem& problem);

/// Fills in `visits` for a budget of kind topk, power or window, and overwrites the weights of the
/// look. Keys that are used are read to their last level, and so are their values. `memory` has
/// dropping_floats(), `scratch` visit_scratch() floats.
void visit_some(const Problem& problem, const Look& look, float* memory, float* scratch,
                const Visits& visits);

}  // namespace tamis::sieve
