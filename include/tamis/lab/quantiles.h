// Three quantiles, by which the lab summarises rows.
#pragma once

namespace tamis::lab {

/// Quantiles over rows; NaN if there are no rows. The p-quantile is the smallest value v such that
/// at least a share p of the values are at most v.
struct Quantiles {
  double p10 = 0;
  double median = 0;
  double p90 = 0;
};

}  // namespace tamis::lab
