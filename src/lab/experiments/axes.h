// Axes that the sweeps of the second paper share.
#pragma once

#include <cstdint>
#include <vector>

#include "lab/experiments/experiment.h"

namespace tamis::lab::experiments {

/// Makes an axis that takes one value.
SweepAxis single_axis(const char* name, const char* what, double value, double least, double most,
                      bool whole);

/// Axes of regimes, which are named by R or by c.
SweepAxis axis_R();
SweepAxis axis_c();

/// Axes of sweeps whose rows are measured at fixed lengths.
SweepAxis axis_n(std::vector<double> values);
SweepAxis axis_eps();
SweepAxis axis_d();
SweepAxis axis_queries(double value);
SweepAxis axis_replicates(double value);

/// Axes of sweeps whose rows have many lengths.
SweepAxis axis_n_low(double value);
SweepAxis axis_n_high(double value);
struct LengthRange {
  std::int64_t low = 0;
  std::int64_t high = 0;
};
/// Throws `usage` unless n_low < n_high.
LengthRange length_range(const GridRequest& request);

}  // namespace tamis::lab::experiments
