// Fits two-parameter laws to d over n, where the errors of d are known, and compares how well they
// fit. Takes microseconds.
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

/// A law for d with parameters u and v.
enum class DimensionLaw {
  logarithmic,  ///< d = u + v·log n
  power,        ///< d = u·n^v
  /// 1/(2/d − 1/n) = u + v·log n: the law log n for a measure of dimension that accounts for a
  /// random subspace of n dimensions leaving less to chance as d/2 approaches n (docs/jl.md).
  confined,
};
std::string_view name_of(DimensionLaw law);
double dimension_at(DimensionLaw law, double u, double v, double n);

struct DimensionFit {
  DimensionLaw law = DimensionLaw::logarithmic;
  double u = 0;
  double v = 0;
  double sd_v = 0;  ///< standard error of v, widened by √(χ²/degrees) where that exceeds 1
  double chi2 = 0;
  std::int64_t degrees = 0;
  double p_value = 0;  ///< probability of a larger chi2 if the law held

  [[nodiscard]] double at(double n) const { return dimension_at(law, u, v, n); }
  /// Half the width of the 95 % confidence interval for v: Student's quantile times sd_v.
  [[nodiscard]] double half_width() const;
};
/// Whether `fit` is more than twenty times as likely as `than`: its χ² is smaller by more
/// than 2·log 20.
bool much_likelier(const DimensionFit& fit, const DimensionFit& than);

/// Fits a law by weighted least squares. Throws `usage` unless the points have at least three
/// different n, n > 1, 0 < d < 2n and sd > 0.
DimensionFit fit_dimension(DimensionLaw law, const std::vector<DimensionPoint>& points);

}  // namespace tamis::lab::stats
