#include "lab/stats/bootstrap.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "lab/numbers/random.h"

namespace tamis::lab::stats {
namespace {

/// Sums over a block of rows, with x and y relative to their overall means.
struct Sums {
  double rows = 0;
  double x = 0;
  double y = 0;
  double xx = 0;
  double xy = 0;

  void add(double dx, double dy) {
    rows += 1;
    x += dx;
    y += dy;
    xx += dx * dx;
    xy += dx * dy;
  }
  Sums& operator+=(const Sums& other) {
    rows += other.rows;
    x += other.x;
    y += other.y;
    xx += other.xx;
    xy += other.xy;
    return *this;
  }
};

struct Slope {
  double value = 0;
  double mean_x = 0;
  double mean_y = 0;
  double sxx = 0;
};

Slope slope_of(const Sums& all) {
  Slope slope;
  slope.mean_x = all.x / all.rows;
  slope.mean_y = all.y / all.rows;
  slope.sxx = all.xx - all.rows * slope.mean_x * slope.mean_x;
  slope.value = (all.xy - all.rows * slope.mean_x * slope.mean_y) / slope.sxx;
  return slope;
}

/// Σ (x − mean)·residual over one block, that is the block's contribution to the slope times sxx.
double pull(const Sums& block, const Slope& slope) {
  const double sxy = block.xy - slope.mean_x * block.y - slope.mean_y * block.x +
                     block.rows * slope.mean_x * slope.mean_y;
  const double sxx =
      block.xx - 2 * slope.mean_x * block.x + block.rows * slope.mean_x * slope.mean_x;
  return sxy - slope.value * sxx;
}

/// The q-quantile of sorted values, taken at rank q·(count + 1).
double quantile(const std::vector<double>& sorted, double q) {
  const double place = q * static_cast<double>(sorted.size() + 1) - 1;
  const double last = static_cast<double>(sorted.size() - 1);
  return sorted[static_cast<std::size_t>(std::clamp(std::round(place), 0.0, last))];
}

}  // namespace

ConfidenceInterval exponent_interval(const Series& series, const Line& line,
                                     const Dependence& dependence, double confidence,
                                     std::int64_t resamples, std::uint64_t seed) {
  const std::size_t rows = series.size();
  const auto length = static_cast<std::size_t>(std::max<std::int64_t>(1, dependence.block));
  const double mean_y = line.intercept + line.slope * line.mean_x;
  // One block for every first row; blocks that reach the end continue at the beginning.
  std::vector<Sums> blocks(rows);
  for (std::size_t first = 0; first < rows; ++first)
    for (std::size_t i = 0; i < length; ++i) {
      const std::size_t row = (first + i) % rows;
      blocks[first].add(series.x[row] - line.mean_x, series.y[row] - mean_y);
    }

  const Slope whole{line.slope, 0, 0, line.sxx};
  double variance = 0;  // summed over blocks; every row is in `length` blocks
  for (const Sums& block : blocks) variance += pull(block, whole) * pull(block, whole);
  const double error = std::sqrt(variance / static_cast<double>(length)) / line.sxx;
  if (!(error > 0)) return {line.slope, line.slope};

  const std::size_t draws = (rows + length - 1) / length;
  std::vector<double> t;
  std::vector<const Sums*> drawn(draws);
  for (std::int64_t resample = 0; resample < resamples; ++resample) {
    const numbers::Stream stream(seed, numbers::Purpose::bootstrap,
                                 static_cast<std::uint64_t>(resample));
    Sums all;
    for (std::size_t b = 0; b < draws; ++b) {
      drawn[b] = &blocks[stream.below(rows, static_cast<std::uint32_t>(b))];
      all += *drawn[b];
    }
    const Slope slope = slope_of(all);
    double squares = 0;
    for (const Sums* block : drawn) squares += pull(*block, slope) * pull(*block, slope);
    const double own_error = std::sqrt(squares) / slope.sxx;
    // A resample in which all n are equal has no slope, and one without noise has no error; both
    // are left out.
    if (slope.sxx > 1e-12 * line.sxx && own_error > 0)
      t.push_back((slope.value - line.slope) / own_error);
  }
  if (t.empty()) return {line.slope, line.slope};
  std::sort(t.begin(), t.end());
  const double wider = error * std::sqrt(dependence.shortfall);
  const double tail = 0.5 * (1 - confidence);
  return {line.slope - wider * quantile(t, 1 - tail), line.slope - wider * quantile(t, tail)};
}

}  // namespace tamis::lab::stats
