// From a candidate to a witness: rounded to what a file stores, and verified as such.
#pragma once

#include <optional>

#include <tamis/lab/pattern.h>
#include <tamis/lab/verify.h>
#include <tamis/lab/witness.h>
#include <tamis/progress.h>
#include "lab/realise/candidate.h"

namespace tamis::lab::realisation {

struct Sealed {
  Witness witness;
  Verification verification;  ///< holds in exact arithmetic, or there is no Sealed
};

/// The candidate as it is, in f32 if that verifies, else in f64, else nothing.
std::optional<Sealed> seal(const Pattern& pattern, const Conditions& conditions,
                           const Candidate& candidate, int threads,
                           const ProgressCallback& progress = {});

/// The same with its queries, which may be missing, replaced by the shortest ones for its keys
/// (`least_queries`).
std::optional<Sealed> seal_shortest(const Pattern& pattern, const Conditions& conditions,
                                    const Candidate& candidate, int threads,
                                    const ProgressCallback& progress = {});

/// rows × cols values as a tensor of that type; nearest where they do not fit it.
Tensor tensor_of(const char* name, std::int64_t rows, std::int64_t cols,
                 const std::vector<double>& values, DType dtype);

}  // namespace tamis::lab::realisation
