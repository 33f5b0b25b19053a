// Two-parameter laws through d over n with known errors, told apart by how well they fit.
// Microseconds.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

namespace tamis::lab::stats {

struct DimensionPoint {
  double n = 0;
  double d = 0;
  double sd = 1;  ///< standard deviation of d
};

/// d of a law with parameters u and v.
enum class DimensionLaw {
  logarithmic,  ///< d = u + v·log n
  power,        ///< d = u·n^v
  confined,  ///< 1/(2/d − 1/n) = u + v·log n: a random subspace of n dimensions leaves less to
             ///< chance as d/2 nears n, and there the law is log n in this measure (docs/jl.md)
};
std::string_view name_of(DimensionLaw law);
double dimension_at(DimensionLaw law, double u, double v, double n);

struct DimensionFit {
  DimensionLaw law = DimensionLaw::logarithmic;
  double u = 0;
  double v = 0;
  double sd_v = 0;  ///< widened by √(χ²/degrees) where that exceeds 1
  double chi2 = 0;
  std::int64_t degrees = 0;
  double p_value = 0;  ///< that chi2 would be larger if the law held

  [[nodiscard]] double at(double n) const { return dimension_at(law, u, v, n); }
  /// Half the width of the 95 % interval for v: Student's quantile times sd_v.
  [[nodiscard]] double half_width() const;
};
/// Twenty times as likely as the other law, or more: its χ² is smaller by 2·log 20.
bool much_likelier(const DimensionFit& fit, const DimensionFit& than);

/// Weighted least squares. At least three points of different n, all d below 2n, else throws
/// `usage`.
DimensionFit fit_dimension(DimensionLaw law, const std::vector<DimensionPoint>& points);

}  // namespace tamis::lab::stats
