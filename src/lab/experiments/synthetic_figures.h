// What `norm`, `violation` and `collapse` measure on synthetic heads, and what theory says of it.
// Time and memory as row_figures over the same logits.
#pragma once

#include <tamis/lab/law.h>
#include <tamis/lab/rows.h>

#include "lab/experiments/experiment.h"
#include "lab/experiments/synthetic_heads.h"

namespace tamis::lab::experiments {

/// Mean and deviation of log k_eps over queries under the theory's assumptions, entries uniform:
/// the Gaussian null at the query's own spread, which is R/3 in root mean square. For a Gaussian W
/// of norm R the square of the spread has relative variance (4 − 6/5)/d over queries, so its
/// logarithm has about deviation √(0.7/d).
struct RowTheory {
  double mean = 0;
  double sd = 0;
};
RowTheory row_theory(const GaussianNull& null, double n, double R, double d);

/// Figures of all queries; the values are not read.
RowFigures synthetic_figures(const Synthetic& synthetic, double eps, const Scene& scene);
/// Their logits' standard deviation, in root mean square over the queries.
double spread_of(const RowFigures& rows);
/// A guess at the time of measuring them on one core.
double synthetic_seconds(std::int64_t n, std::int64_t d, std::int64_t queries);

}  // namespace tamis::lab::experiments
