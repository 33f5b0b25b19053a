// Finds the shortest queries for all rows of a pattern, for given keys.
#pragma once

#include <cstdint>
#include <vector>

#include <tamis/lab/pattern.h>
#include <tamis/lab/witness.h>
#include <tamis/progress.h>
#include "lab/realise/candidate.h"

namespace tamis::lab::realisation {

struct LeastQueries {
  std::vector<double> q;  ///< rows × dim
  /// The first row that no query satisfies, or whose margin is below the rounding; −1 if none.
  std::int64_t impossible = -1;
};

/// Finds the shortest queries for the keys of `candidate`, which are not changed. The queries of
/// `candidate`, if it has any, only show which keys are near. The result leaves room for rounding:
/// with numbers and sums rounded to `unit` (2^-24 for f32, 2^-53 for f64), a logit errs by at most
/// (dim + 2)·unit·‖q‖·‖k‖, and the conditions still hold.
///
/// A row takes a few times dim steps over its keys. Where there are more than `most_pairs` pairs of
/// row and key, the steps go over the near keys only, which are found by passes of 2·rows·cols·dim
/// flops in f32. Memory: rows·dim doubles and the lists of near keys. Throws `cancelled`.
LeastQueries least_queries(const Pattern& pattern, const Conditions& conditions,
                           const Candidate& candidate, double unit, int threads,
                           const ProgressCallback& progress = {});

/// Up to this many pairs of row and key, every row is solved over all its keys.
inline constexpr std::int64_t most_pairs = std::int64_t{1} << 22;

}  // namespace tamis::lab::realisation
