// The rows of a head, ordered by n, as a series whose noise may be autocorrelated.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace tamis::lab::stats {

/// x = log n, ascending; y = log k_eps.
struct Series {
  std::vector<double> n;
  std::vector<double> x;
  std::vector<double> y;
  [[nodiscard]] std::size_t size() const { return x.size(); }
};
/// Makes a series sorted by n; rows of equal n keep their order. O(rows log rows); allocates.
Series make_series(std::span<const double> n, std::span<const double> k_eps);

/// A straight line fitted to points by least squares. If all x are equal, sxx and slope are 0.
struct Line {
  double intercept = 0;
  double slope = 0;
  double mean_x = 0;
  double sxx = 0;  ///< Σ (x − mean)²
};
Line least_squares(std::span<const double> x, std::span<const double> y);

/// How strongly the noise of neighbouring rows is correlated. Estimated from the residuals about a
/// cubic in x, so that a law's lack of fit is not taken for dependence.
struct Dependence {
  double autocorrelation = 0;  ///< at lag 1, corrected for the cubic's bias, at least 0
  /// Variance of a mean of many rows divided by that for independent rows, ≥ 1.
  double inflation = 1;
  std::int64_t block = 1;  ///< rows per block to resample
  /// The full variance divided by the part of it that blocks of `block` rows account for, if the
  /// noise is autoregressive.
  double shortfall = 1;
};
Dependence dependence(const Series& series);

}  // namespace tamis::lab::stats
