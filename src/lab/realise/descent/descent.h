// Finds witnesses by optimisation: queries and keys of any dimension whose norm product is made
// small by gradient descent. The cost is a given number of steps, each linear in the listed pairs.
#pragma once

#include <cstdint>
#include <optional>

#include <tamis/lab/pattern.h>
#include <tamis/lab/witness.h>
#include <tamis/progress.h>
#include "lab/realise/candidate.h"

namespace tamis::lab::realisation {

struct DescentOptions {
  std::int64_t dim = 0;
  std::int64_t steps = 2000;  ///< a few hundred already come within 5 %
  double enough = 0;          ///< stop at the first candidate whose norm product is at most this
  std::uint64_t seed = 0;
  int threads = 1;
  /// Where to start, of the same sizes and dimension; null means `starting_points`.
  const Candidate* start = nullptr;
};

/// Returns the candidate of least norm product max‖q‖·max‖k‖ that was seen, or nothing if no
/// iterate met the conditions. Keys are in the unit ball and each query is as long as its row
/// needs, to four digits, in f32. The numbers are floats, but for the lengths of the queries.
/// Deterministic for a seed, whatever the number of threads.
///
/// A step costs 6·dim flops for each pair on the neighbour lists. Refreshing the lists costs
/// 2·rows·cols·dim flops, at every step at first and at every twentieth at the end. Memory: 20 rows
/// of dim floats for every row and column, and at most 2 KB of lists for every row. Throws
/// `cancelled`.
std::optional<Candidate> descent(const Pattern& pattern, const Conditions& conditions,
                                 const DescentOptions& options,
                                 const ProgressCallback& progress = {});

}  // namespace tamis::lab::realisation
