// The shortest queries for all rows of a pattern, keys given.
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
  std::int64_t impossible =
      -1;  ///< the first row that no query satisfies, or whose margin rounding would eat
};

/// For the keys of `candidate`, which are not changed; its queries, where it has them, say which
/// keys are near. The queries leave room for rounding: with numbers and sums rounded to `unit`
/// (2^-24 for f32, 2^-53) logits err by at most (dim + 2)·unit·‖q‖·‖k‖ each, and conditions hold
/// all the same.
///
/// A row takes a few times dim steps over its keys; where there are more than `most_pairs` of row
/// and key, only over those near, found by passes of 2·rows·cols·dim flops in f32. Memory: rows·dim
/// doubles and the lists. Throws `cancelled`.
LeastQueries least_queries(const Pattern& pattern, const Conditions& conditions,
                           const Candidate& candidate, double unit, int threads,
                           const ProgressCallback& progress = {});

inline constexpr std::int64_t most_pairs = std::int64_t{1} << 22;

}  // namespace tamis::lab::realisation
