// Data shared by Figure 3's report and its chart: the least d by setup and n, and the laws fitted
// to it.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include <tamis/lab/bounds.h>

#include "lab/experiments/random_pattern.h"
#include "lab/stats/dimension_law.h"
#include "lab/stats/estimate.h"

namespace tamis::lab::experiments {

/// The results of one setup at one n.
struct Fig3Cell {
  std::vector<double> searched;  // the least d of each matrix
  std::int64_t beyond =
      0;  // matrices with no accepted d up to 2n; if there are any, there is no mean
  std::vector<DminMedian> curves;  // median of the least d from the curve of each matrix
  std::vector<double> p_values;    // p-value of each curve's fit

  [[nodiscard]] bool has_mean() const { return !searched.empty() && beyond == 0; }

  [[nodiscard]] double mean_searched() const { return stats::mean_of(searched); }
};
struct Fig3Setup {
  PatternSetup setup;
  std::map<std::int64_t, Fig3Cell> cells;  // by n
  std::vector<stats::DimensionPoint> points;
  std::vector<stats::DimensionFit> fits;  // log, power, confined; empty if fewer than three n

  [[nodiscard]] const stats::DimensionFit& fit(stats::DimensionLaw law) const {
    return fits[static_cast<std::size_t>(law)];
  }
};

/// The middle of the step that contains the median, which is what the mean of searches estimates.
inline double centre(const DminMedian& median, double step) { return median.between + 0.5 * step; }

/// The slope of a bound per unit of log n, from n = 1024 to 2048.
double bound_slope(const PatternSetup& setup,
                   DimensionBound (*bound)(std::int64_t, std::int64_t, double, double, double));

/// Returns a Vega-Lite chart with one panel for every setup.
std::string fig3_chart(const std::vector<Fig3Setup>& setups, double step);

SweepReport fig3_report(const GridRequest& request, const std::vector<DonePoint>& done);

}  // namespace tamis::lab::experiments
