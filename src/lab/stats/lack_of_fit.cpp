#include "lab/stats/lack_of_fit.h"

#include <algorithm>
#include <cmath>
#include <cstddef>

#include "lab/stats/special.h"

namespace tamis::lab::stats {

LackOfFit lack_of_fit(std::span<const double> residuals, int parameters, double inflation) {
  const std::size_t rows = residuals.size();
  const std::size_t bins = std::clamp<std::size_t>(rows / 8, 3, 8);
  double between = 0;
  double within = 0;
  for (std::size_t bin = 0; bin < bins; ++bin) {
    const auto part =
        residuals.subspan(bin * rows / bins, (bin + 1) * rows / bins - bin * rows / bins);
    const double count = static_cast<double>(part.size());
    double mean = 0;
    for (const double e : part) mean += e / count;
    between += count * mean * mean;
    for (const double e : part) within += (e - mean) * (e - mean);
  }
  // Subtracting a bin's mean removes the variance of `inflation` rows from the bin, where it would
  // remove that of one row if rows were independent.
  const double count = static_cast<double>(rows);
  const double free = std::max(1.0, count - static_cast<double>(bins) * inflation);
  const double noise = within / free;
  const double degrees = static_cast<double>(bins) - parameters;
  const double expected = degrees * noise * inflation;
  LackOfFit result;
  result.size = std::sqrt(std::max(0.0, between - expected) / count);
  if (expected > 0)
    result.p_value = f_tail(degrees, free / inflation, between / expected);
  else
    result.p_value = between > 0 ? 0 : 1;
  return result;
}

}  // namespace tamis::lab::stats
