// Rows of a head ordered by n, as a series with noise that may depend on the noise before it.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace tamis::lab::stats {

/// x = log n ascending, y = log k_eps.
struct Series {
  std::vector<double> n;
  std::vector<double> x;
  std::vector<double> y;
  [[nodiscard]] std::size_t size() const { return x.size(); }
};
/// Sorted by n; rows of equal n keep their order. Allocates; O(rows log rows).
Series make_series(std::span<const double> n, std::span<const double> k_eps);

/// A straight line through points by least squares. sxx is 0 if all x are equal, and slope then 0.
struct Line {
  double intercept = 0;
  double slope = 0;
  double mean_x = 0;
  double sxx = 0;  ///< Σ (x − mean)²
};
Line least_squares(std::span<const double> x, std::span<const double> y);

/// How far the noise of neighbouring rows hangs together, from the residuals about a cubic in x, so
/// that a law that does not fit is not taken for dependence.
struct Dependence {
  double autocorrelation = 0;  ///< at lag 1, corrected for the cubic's bias; below 0 counts as 0
  double inflation = 1;    ///< variance of a mean of many rows relative to independent rows, ≥ 1
  std::int64_t block = 1;  ///< length of the blocks to resample
  /// By how much the variance that blocks of `block` rows see falls short of all, if the noise is
  /// autoregressive.
  double shortfall = 1;
};
Dependence dependence(const Series& series);

}  // namespace tamis::lab::stats
