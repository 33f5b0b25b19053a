// What Figure 3's report and its chart share: d_min by setup and n, and the laws through it.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "lab/experiments/random_pattern.h"
#include "lab/stats/estimate.h"
#include "lab/stats/dimension_law.h"

namespace tamis::lab::experiments {

/// One setup at one n.
struct Fig3Cell {
  std::vector<double> searched;    // d_min of each matrix
  std::int64_t beyond = 0;         // matrices without one up to 2n: no mean can be told then
  std::vector<DminMedian> curves;  // of each matrix
  std::vector<double> p_values;    // of each curve's counts, if its form holds

  [[nodiscard]] bool has_mean() const { return !searched.empty() && beyond == 0; }

  [[nodiscard]] double mean_searched() const { return stats::mean_of(searched); }
};
struct Fig3Setup {
  PatternSetup setup;
  std::map<std::int64_t, Fig3Cell> cells;  // by n
  std::vector<stats::DimensionPoint> points;
  std::vector<stats::DimensionFit> fits;  // log, power, confined; none with fewer than three n

  [[nodiscard]] const stats::DimensionFit& fit(stats::DimensionLaw law) const {
    return fits[static_cast<std::size_t>(law)];
  }
};

/// The middle of the step that holds the median: what the mean of searches estimates.
inline double centre(const DminMedian& median, double step) { return median.between + 0.5 * step; }

/// Slope of a bound per unit of log n, from n = 1024 to 2048.
double bound_slope(const PatternSetup& setup,
                   DimensionBound (*bound)(std::int64_t, std::int64_t, double, double, double));

/// A Vega-Lite chart, one panel for every setup.
std::string fig3_chart(const std::vector<Fig3Setup>& setups, double step);

}  // namespace tamis::lab::experiments
