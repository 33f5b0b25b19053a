// Whether a law's residuals still follow n: their means over bins of length against the noise.
#pragma once

#include <span>

namespace tamis::lab::stats {

struct LackOfFit {
  double size = 0;  ///< standard deviation, over rows, of the part of log k_eps that the law misses
  double p_value = 1;  ///< chance of binned residuals as large as these if the law held
};

/// `residuals` of log k_eps ordered by n, at least 24; `parameters` of the law were fitted to them;
/// `inflation` as in Dependence. At most 8 bins of equally many rows, at least 8 rows each.
/// O(rows), allocates nothing.
LackOfFit lack_of_fit(std::span<const double> residuals, int parameters, double inflation);

}  // namespace tamis::lab::stats
