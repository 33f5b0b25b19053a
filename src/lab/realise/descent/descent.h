// Witnesses by optimisation: Q and K of any dimension whose norm product is made small by descent.
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
  const Candidate* start = nullptr;  ///< of the same sizes and dimension; null: `starting_points`
};

/// The candidate of least norm product max‖q‖·max‖k‖ that was seen, keys in the unit ball, each
/// query as long as its row needs (to four digits, in f32); none if no iterate met the conditions.
/// The numbers are floats, but for the lengths of the queries. Deterministic for a seed, whatever
/// the threads.
///
/// A step costs 6·dim flops for each pair on the neighbour lists, a refresh of these
/// 2·rows·cols·dim, every step at first, every twentieth at last. Memory: 20 rows of dim floats for
/// every row and column, and 2 KB of lists for every row at most. Throws `cancelled`.
std::optional<Candidate> descent(const Pattern& pattern, const Conditions& conditions,
                                 const DescentOptions& options,
                                 const ProgressCallback& progress = {});

}  // namespace tamis::lab::realisation
