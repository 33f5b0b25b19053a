// The reference for row figures: f64, one key at a time, heaviest first. The fast path (row.cpp) is
// compared with it, and it decides k_eps where the error bounds of the fast path do not.
#include <algorithm>
#include <cmath>
#include <functional>
#include <numbers>
#include <vector>

#include "lab/profile/row.h"
#include "lab/stats/sum.h"

namespace tamis::lab::profiling {
namespace {

/// Weights 2^(s − top), heaviest first.
std::vector<double> sorted_weights(std::span<const float> s) {
  std::vector<double> w(s.begin(), s.end());
  std::sort(w.begin(), w.end(), std::greater<>());
  const double top = w.front();
  for (double& x : w) x = std::exp2(x - top);
  return w;
}

double total(std::span<const double> w) {
  stats::Sum sum;
  for (const double x : w) sum.add(x);
  return sum.value();
}

/// Returns the fewest keys: keys are dropped, lightest first, while the dropped mass is
/// at most eps.
std::int64_t fewest(std::span<const double> w, double eps) {
  const double allowed = eps * (1 + eps_slack) * total(w);
  stats::Sum dropped;
  auto k = static_cast<std::int64_t>(w.size());
  for (; k > 1; --k) {
    dropped.add(w[static_cast<std::size_t>(k - 1)]);
    if (dropped.value() > allowed) break;
  }
  return k;
}

}  // namespace

std::int64_t reference_k_eps(std::span<const float> s, double eps) {
  return fewest(sorted_weights(s), eps);
}

void reference_row(std::span<const float> s, const RowOptions& options,
                   std::span<const std::int64_t> grid, const RowResult& result) {
  const auto n = static_cast<std::int64_t>(s.size());
  const std::vector<double> w = sorted_weights(s);
  const double z = total(w);
  const double top = *std::max_element(s.begin(), s.end());
  const auto mass_of = [&](std::int64_t first, std::int64_t last) {
    stats::Sum sum;
    for (std::int64_t j = std::max<std::int64_t>(first, 0); j < last; ++j)
      sum.add(std::exp2(static_cast<double>(s[static_cast<std::size_t>(j)]) - top));
    return sum.value() / z;
  };

  result.n = n;
  for (std::size_t e = 0; e < options.eps.size(); ++e) result.k_eps[e] = fewest(w, options.eps[e]);
  for (std::size_t e = 0; e < options.eps.size(); ++e) {
    stats::Sum dropped;
    std::int64_t j = std::min(n, options.sinks);
    for (; j < n; ++j) {
      dropped.add(std::exp2(static_cast<double>(s[static_cast<std::size_t>(j)]) - top));
      if (dropped.value() > options.eps[e] * (1 + eps_slack) * z) break;
    }
    result.w_eps[e] = n - j;
  }
  for (std::size_t g = 0; g < grid.size(); ++g)
    result.curve[g] =
        grid[g] >= n ? 1 : total(std::span(w).first(static_cast<std::size_t>(grid[g]))) / z;
  result.top1 = 1 / z;
  stats::Sum weighted;
  stats::Sum sum;
  for (const float x : s) {
    weighted.add(std::exp2(x - top) * (x - top));
    sum.add(x);
  }
  result.entropy = std::log(z) - std::numbers::ln2 * weighted.value() / z;
  result.sink = mass_of(0, std::min(n, options.sinks));
  for (std::size_t i = 0; i < options.windows.size(); ++i)
    result.window[i] = mass_of(n - options.windows[i], n);
  const double mean = sum.value() / static_cast<double>(n);
  stats::Sum squares;
  for (const float x : s) squares.add((x - mean) * (x - mean));
  result.mean = mean * std::numbers::ln2;
  result.sigma = std::sqrt(squares.value() / static_cast<double>(n)) * std::numbers::ln2;
}

}  // namespace tamis::lab::profiling
