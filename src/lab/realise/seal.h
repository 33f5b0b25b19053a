// Makes a witness from a candidate: rounds it to the numbers that a file stores and verifies those.
// Costs a verification for each type tried.
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
  Verification verification;  ///< always holds in exact arithmetic
};

/// The candidate as it is, in f32 if that verifies, else in f64 if that verifies, else nothing.
std::optional<Sealed> seal(const Pattern& pattern, const Conditions& conditions,
                           const Candidate& candidate, int threads,
                           const ProgressCallback& progress = {});

/// The same, but the candidate's queries, which may be missing, are replaced by the shortest ones
/// for its keys (`least_queries`). If that fails in both types, tries the candidate's own queries.
std::optional<Sealed> seal_shortest(const Pattern& pattern, const Conditions& conditions,
                                    const Candidate& candidate, int threads,
                                    const ProgressCallback& progress = {});

/// rows × cols values as a tensor of this type, rounded to nearest.
Tensor tensor_of(const char* name, std::int64_t rows, std::int64_t cols,
                 const std::vector<double>& values, DType dtype);

}  // namespace tamis::lab::realisation
