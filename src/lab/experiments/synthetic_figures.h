// The figures that `norm`, `violation` and `collapse` measure on synthetic heads, and their
// theoretical values. Takes the time and memory of row_figures over the same logits.
#pragma once

#include <vector>

#include <tamis/lab/law.h>
#include <tamis/lab/rows.h>

#include "lab/experiments/experiment.h"
#include "lab/experiments/synthetic_heads.h"

namespace tamis::lab::experiments {

/// Mean and standard deviation of log k_eps over queries under the theory's assumptions
/// with uniform entries: the Gaussian null at each query's own logit spread (standard
/// deviation), which is R/3 in root mean square. For a Gaussian W of norm R the square of
/// the spread has relative variance (4 − 6/5)/d over queries, so the standard deviation of
/// its logarithm is about √(0.7/d).
struct RowTheory {
  double mean = 0;
  double sd = 0;
};
RowTheory row_theory(const GaussianNull& null, double n, double R, double d);

/// Computes the figures of all queries. The values are not read.
RowFigures synthetic_figures(const Synthetic& synthetic, double eps, const Scene& scene);
/// The standard deviation of the rows' logits, as a root mean square over the queries.
double spread_of(const RowFigures& rows);

/// Appends a point for every n and replicate of the request. Its parameters are part, those of
/// `setting`, n, eps if the sweep has that axis, d, queries, replicate and seed. Their order is a
/// part of what identifies a point in a store.
void add_synthetic(std::vector<GridPoint>& points, const GridRequest& request, const Json& setting);
/// Returns the head that such parameters describe, with all dials at 0.
Synthetic synthetic_of(const Json& parameters);

}  // namespace tamis::lab::experiments
