#include "lab/stats/quantiles.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

namespace tamis::lab::stats {
namespace {

/// The smallest value v such that at least a share p of the values are at most v.
/// Values are sorted.
double at(const std::vector<double>& sorted, double p) {
  if (sorted.empty()) return std::numeric_limits<double>::quiet_NaN();
  const auto count = static_cast<double>(sorted.size());
  const auto rank = static_cast<std::size_t>(std::ceil(p * count - 1e-9));
  return sorted[std::clamp<std::size_t>(rank, 1, sorted.size()) - 1];
}

}  // namespace

Quantiles quantiles(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return {at(values, 0.1), at(values, 0.5), at(values, 0.9)};
}

double median(std::vector<double> values) { return quantiles(std::move(values)).median; }

std::vector<BinRows> length_bins(std::span<const double> n, std::int64_t bins) {
  BinRows order(n.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return n[a] < n[b]; });
  std::vector<BinRows> groups;
  std::size_t first = 0;
  for (std::int64_t b = 0; b < bins && first < order.size(); ++b) {
    auto last = static_cast<std::size_t>((b + 1) * static_cast<std::int64_t>(order.size()) / bins);
    while (last > 0 && last < order.size() && n[order[last]] == n[order[last - 1]]) ++last;
    if (last <= first) continue;
    groups.emplace_back(order.begin() + static_cast<std::ptrdiff_t>(first),
                        order.begin() + static_cast<std::ptrdiff_t>(last));
    first = last;
  }
  return groups;
}

}  // namespace tamis::lab::stats
