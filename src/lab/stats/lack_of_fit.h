// Tests whether a law's residuals still depend on n, by comparing their means over bins of length
// with the noise.
#pragma once

#include <span>

namespace tamis::lab::stats {

struct LackOfFit {
  /// Standard deviation, over rows, of the part of log k_eps that the law misses.
  double size = 0;
  /// Probability of bin means at least as large as these if the law held.
  double p_value = 1;
};

/// `residuals` are those of log k_eps, ordered by n, at least 24 of them; `parameters` is the
/// number of parameters that were fitted; `inflation` is as in Dependence. Uses at most 8 bins of
/// equally many rows, at least 8 rows each. O(rows), allocates nothing.
LackOfFit lack_of_fit(std::span<const double> residuals, int parameters, double inflation);

}  // namespace tamis::lab::stats
