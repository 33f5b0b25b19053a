// The only place where a witness is sealed: a candidate is rounded to the numbers that a file
// stores, and those are verified. Costs a verification for each type tried.
#pragma once

#include <optional>
#include <utility>

#include <tamis/lab/pattern.h>
#include <tamis/lab/verify.h>
#include <tamis/lab/witness.h>
#include <tamis/progress.h>
#include "lab/realise/candidate.h"

namespace tamis::lab::realisation {

/// A witness with its verification, which holds in exact arithmetic. Nothing can change either
/// afterwards, so whatever a witness should say is put into it before it is sealed.
class Sealed {
 public:
  [[nodiscard]] const Witness& witness() const { return witness_; }
  [[nodiscard]] const Verification& verification() const { return verification_; }
  /// Moves the witness out, to hand it to a caller; this object is of no use afterwards.
  [[nodiscard]] Witness release() && { return std::move(witness_); }

 private:
  friend std::optional<Sealed> seal_witness(const Pattern& pattern, Witness witness,
                                            const Conditions& conditions, int threads,
                                            const ProgressCallback& progress);
  Sealed(Witness witness, const Verification& verification)
      : witness_(std::move(witness)), verification_(verification) {}

  Witness witness_;
  Verification verification_;
};

/// Verifies the witness as it is, and seals it if it holds. `made_for` becomes the conditions.
std::optional<Sealed> seal_witness(const Pattern& pattern, Witness witness,
                                   const Conditions& conditions, int threads,
                                   const ProgressCallback& progress = {});

/// The candidate as it is, in f32 if that verifies, else in f64 if that verifies, else nothing.
std::optional<Sealed> seal(const Pattern& pattern, const Conditions& conditions,
                           const Candidate& candidate, int threads,
                           const ProgressCallback& progress = {});

/// The same, but the candidate's queries, which may be missing, are replaced by the shortest ones
/// for its keys (`least_queries`). If that fails in both types, tries the candidate's own queries.
/// The candidate must have no inputs, whose queries would stay as they are.
std::optional<Sealed> seal_shortest(const Pattern& pattern, const Conditions& conditions,
                                    const Candidate& candidate, int threads,
                                    const ProgressCallback& progress = {});

/// rows × cols values as a tensor of this type, rounded to nearest.
Tensor tensor_of(const char* name, std::int64_t rows, std::int64_t cols,
                 const std::vector<double>& values, DType dtype);

}  // namespace tamis::lab::realisation
