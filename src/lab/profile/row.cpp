// Computes the figures of one row in three passes over its logits: their extent, their weights and
// the order of the weights.
#include "lab/profile/row.h"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <utility>

#include "attention/dense.h"
#include "core/fail.h"
#include "lab/profile/k_eps.h"
#include "lab/profile/ranking.h"

namespace tamis::lab::profiling {
namespace {

constexpr std::int64_t row_padding = 32;

/// Computes the masses of the first `sinks` keys and of the last w keys; w holds weights
/// in key order.
void measure_places(const kernels::RowKernels& kernels, const float* w, std::int64_t n,
                    const RowOptions& options, const RowResult& result) {
  result.sink = kernels.sum(w, std::min(n, options.sinks));
  for (std::size_t i = 0; i < options.windows.size(); ++i) {
    const std::int64_t keys = std::min(n, options.windows[i]);
    result.window[i] = kernels.sum(w + n - keys, keys);
  }
}

/// Returns the least window such that the keys between the first `sinks` keys and the window have
/// a mass of at most `dropped`.
std::int64_t fitting_window(const kernels::RowKernels& kernels, const float* w, std::int64_t n,
                            std::int64_t sinks, double dropped) {
  constexpr std::int64_t some = 256;
  std::int64_t j = std::min(n, sinks);
  double sum = 0;
  for (; j + some <= n; j += some) {
    const double more = kernels.sum(w + j, some);
    if (sum + more > dropped) break;
    sum += more;
  }
  for (; j < n; ++j) {
    sum += w[j];
    if (sum > dropped) break;
  }
  return n - j;
}

}  // namespace

std::vector<std::int64_t> mass_grid(std::int64_t n) {
  std::vector<std::int64_t> grid;
  for (std::int64_t power = 1; power <= n; power *= 2) {
    grid.push_back(power);
    if (power > 1 && power + power / 2 <= n) grid.push_back(power + power / 2);
  }
  return grid;
}

std::int64_t RowScratch::floats(std::int64_t keys) {
  const std::int64_t padded = attention::round_up(keys, row_padding);
  return 2 * padded + padded / 2 + attention::round_up(most_buckets + 1, 16) + 2 * most_buckets +
         attention::round_up(2 * (padded / 32 + 1), 16);
}

RowScratch RowScratch::in(float* memory, std::int64_t keys) {
  const std::int64_t padded = attention::round_up(keys, row_padding);
  RowScratch scratch{};
  const auto take = [&memory](std::int64_t floats) {
    return std::exchange(memory, memory + floats);
  };
  scratch.before = reinterpret_cast<double*>(take(attention::round_up(2 * (padded / 32 + 1), 16)));
  scratch.weights = take(padded);
  scratch.grouped = take(padded);
  scratch.bucket = reinterpret_cast<std::int16_t*>(take(padded / 2));
  scratch.start = reinterpret_cast<std::int32_t*>(take(attention::round_up(most_buckets + 1, 16)));
  scratch.cursor = reinterpret_cast<std::int32_t*>(take(2 * most_buckets));
  return scratch;
}

bool measure_row(const kernels::RowKernels& kernels, const float* s, std::int64_t n,
                 const RowOptions& options, std::span<const std::int64_t> grid,
                 const RowScratch& scratch, const RowResult& result) {
  const kernels::RowExtent extent = kernels.extent(s, n);
  if (!extent.finite || !std::isfinite(extent.top - extent.bottom)) return false;
  const double mean = extent.sum / static_cast<double>(n);
  const Ranking::Buckets buckets = Ranking::buckets_for(n, extent.top, extent.bottom);
  const kernels::RowSums sums =
      kernels.weigh(s, n, extent.top, mean - extent.top, buckets.per_unit,
                    static_cast<float>(buckets.count - 1), scratch.weights, scratch.bucket);
  measure_places(kernels, scratch.weights, n, options, result);
  Ranking ranking(kernels, buckets, n, scratch);

  const double total = ranking.total();
  // before sorting, which may overwrite the weights
  for (std::size_t e = 0; e < options.eps.size(); ++e)
    result.w_eps[e] = fitting_window(kernels, scratch.weights, n, options.sinks,
                                     options.eps[e] * (1 + eps_slack) * total);
  result.n = n;
  result.top1 = 1 / total;
  result.entropy = std::clamp(std::log(total) - std::numbers::ln2 * sums.weighted / total, 0.0,
                              std::log(static_cast<double>(n)));
  result.sink = std::min(1.0, result.sink / total);
  for (double& share : result.window) share = std::min(1.0, share / total);
  result.mean = mean * std::numbers::ln2;
  result.sigma = std::sqrt(sums.squares / static_cast<double>(n)) * std::numbers::ln2;
  int bucket = 0;
  for (std::size_t g = 0; g < grid.size(); ++g) {
    if (grid[g] >= n) {
      result.curve[g] = 1;
      continue;
    }
    while (ranking.start(bucket + 1) < grid[g]) ++bucket;
    result.curve[g] = std::min(1.0, ranking.mass(grid[g], bucket) / total);
  }
  const KEpsRow row{kernels, s, n, extent.top, scratch};
  for (std::size_t e = 0; e < options.eps.size(); ++e)
    result.k_eps[e] = k_eps(row, ranking, options.eps[e]);
  return true;
}

}  // namespace tamis::lab::profiling
