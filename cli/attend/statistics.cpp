#include "attend/statistics.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace tamis::cli {
namespace {

bool below(double a, double b) { return a < b || (!std::isnan(a) && std::isnan(b)); }

double quantile(const std::vector<double>& sorted, double rank) {
  const auto place = static_cast<std::size_t>(std::ceil(rank * static_cast<double>(sorted.size())));
  return sorted[std::max<std::size_t>(place, 1) - 1];
}

/// Returns value / by, and `of_zeros` for 0 / 0.
double quotient(double value, double by, double of_zeros) {
  return value == 0 && by == 0 ? of_zeros : value / by;
}

/// Calls body(result, certificate, query) once for every KV head and query.
template <class Body>
void for_each_reading(std::span<const LayerResult> layers, const Body& body) {
  for (const LayerResult& result : layers) {
    const Shape& shape = result.layer.shape;
    for (std::int64_t kv_head = 0; kv_head < shape.kv_heads; ++kv_head)
      for (std::int64_t query = 0; query < shape.queries; ++query) {
        const std::int64_t row = kv_head * shape.group() * shape.queries + query;
        body(result, result.certificates[static_cast<std::size_t>(row)],
             static_cast<std::size_t>(query));
      }
  }
}

}  // namespace

Distribution distribution(std::vector<double> values) {
  std::ranges::sort(values, below);
  return {quantile(values, 0.5), quantile(values, 0.9), values.back(),
          std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size())};
}

std::vector<double> claims(std::span<const LayerResult> layers, double Certificate::*field) {
  std::vector<double> all;
  for (const LayerResult& result : layers)
    for (const Certificate& certificate : result.certificates) all.push_back(certificate.*field);
  return all;
}

std::vector<double> measured(std::span<const LayerResult> layers,
                             std::vector<double> LayerResult::*field) {
  std::vector<double> all;
  for (const LayerResult& result : layers)
    all.insert(all.end(), (result.*field).begin(), (result.*field).end());
  return all;
}

std::vector<double> relative_errors(std::span<const LayerResult> layers) {
  std::vector<double> all = measured(layers, &LayerResult::true_error);
  const std::vector<double> norms = measured(layers, &LayerResult::exact_norm);
  for (std::size_t row = 0; row < all.size(); ++row) all[row] = quotient(all[row], norms[row], 0);
  return all;
}

std::vector<double> ratios(std::span<const LayerResult> layers, double Certificate::*claim,
                           std::vector<double> LayerResult::*truth) {
  std::vector<double> all;
  for (const LayerResult& result : layers)
    for (std::size_t row = 0; row < result.certificates.size(); ++row)
      if (result.certificates[row].dense == Dense::no)
        all.push_back(quotient(result.certificates[row].*claim, (result.*truth)[row], 1));
  return all;
}

std::vector<double> key_shares(const lab::Trace& trace, std::span<const LayerResult> layers,
                               const Count& keys) {
  std::vector<double> all;
  for_each_reading(layers, [&](const LayerResult& result, const Certificate& c, std::size_t query) {
    all.push_back(static_cast<double>(keys(result, c)) / static_cast<double>(trace.seen()[query]));
  });
  return all;
}

std::vector<double> byte_shares(std::span<const LayerResult> layers) {
  std::vector<double> all;
  for_each_reading(layers, [&](const LayerResult&, const Certificate& c, std::size_t) {
    all.push_back(static_cast<double>(c.bytes) / static_cast<double>(c.dense_bytes));
  });
  return all;
}

std::int64_t dense_keys(const lab::Trace& trace, std::span<const LayerResult> layers) {
  const std::int64_t seen =
      std::accumulate(trace.seen().begin(), trace.seen().end(), std::int64_t{0});
  std::int64_t sum = 0;
  for (const LayerResult& result : layers) sum += result.layer.shape.kv_heads * seen;
  return sum;
}

std::int64_t dense_bytes(std::span<const LayerResult> layers) {
  std::int64_t sum = 0;
  for_each_reading(
      layers, [&](const LayerResult&, const Certificate& c, std::size_t) { sum += c.dense_bytes; });
  return sum;
}

Totals totals(std::span<const LayerResult> layers) {
  Totals sum;
  std::int64_t bf16_bytes = 0;
  for (const LayerResult& result : layers) {
    const Shape& shape = result.layer.shape;
    sum.queries += shape.rows();
    sum.violations += result.violations;
    for (const Certificate& certificate : result.certificates) {
      if (certificate.dense != Dense::no) ++sum.dense;
      ++sum.reached[static_cast<std::size_t>(certificate.reached)];
    }
    sum.seconds += result.seconds;
    sum.cache_bytes += static_cast<std::int64_t>(result.cache_bytes);
    sum.append_seconds += result.append_seconds;
    bf16_bytes += shape.kv_heads * result.cached * (shape.head_dim + shape.value_dim) * 2;
  }
  if (bf16_bytes > 0)
    sum.cache_share = static_cast<double>(sum.cache_bytes) / static_cast<double>(bf16_bytes);
  return sum;
}

}  // namespace tamis::cli
