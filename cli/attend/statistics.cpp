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

/// 0 of 0 is nothing, or exact.
double quotient(double value, double by, double of_zeros) {
  return value == 0 && by == 0 ? of_zeros : value / by;
}

std::vector<double> shares(const Trace& trace, std::span<const LayerResult> layers, const Count& count,
                           bool of_bytes) {
  std::vector<double> all;
  for (const LayerResult& result : layers) {
    const Shape& shape = result.layer.shape;
    for (std::int64_t kv_head = 0; kv_head < shape.kv_heads; ++kv_head) {
      for (std::int64_t query = 0; query < shape.queries; ++query) {
        const std::int64_t row = kv_head * shape.group() * shape.queries + query;
        const std::int64_t seen = trace.seen()[static_cast<std::size_t>(query)];
        all.push_back(static_cast<double>(count(result.certificates[static_cast<std::size_t>(row)])) /
                      static_cast<double>(of_bytes ? seen * token_bytes(shape) : seen));
      }
    }
  }
  return all;
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

std::vector<double> measured(std::span<const LayerResult> layers, std::vector<double> LayerResult::*field) {
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
      if (!result.certificates[row].dense)
        all.push_back(quotient(result.certificates[row].*claim, (result.*truth)[row], 1));
  return all;
}

std::vector<double> key_shares(const Trace& trace, std::span<const LayerResult> layers, const Count& keys) {
  return shares(trace, layers, keys, false);
}

std::vector<double> byte_shares(const Trace& trace, std::span<const LayerResult> layers,
                                const Count& bytes) {
  return shares(trace, layers, bytes, true);
}

std::int64_t dense_keys(const Trace& trace, std::span<const LayerResult> layers) {
  const std::int64_t seen = std::accumulate(trace.seen().begin(), trace.seen().end(), std::int64_t{0});
  std::int64_t sum = 0;
  for (const LayerResult& result : layers) sum += result.layer.shape.kv_heads * seen;
  return sum;
}

std::int64_t dense_bytes(const Trace& trace, std::span<const LayerResult> layers) {
  std::int64_t sum = 0;
  for (const LayerResult& result : layers)
    sum += dense_keys(trace, {&result, 1}) * token_bytes(result.layer.shape);
  return sum;
}

Totals totals(const Trace& trace, std::span<const LayerResult> layers) {
  Totals sum;
  std::int64_t kv_bytes = 0;
  for (const LayerResult& result : layers) {
    const Shape& shape = result.layer.shape;
    sum.queries += shape.rows();
    sum.violations += result.violations;
    sum.dense += std::ranges::count(result.certificates, true, &Certificate::dense);
    sum.seconds += result.seconds;
    sum.index_bytes += static_cast<std::int64_t>(result.index_bytes);
    sum.index_seconds += result.index_seconds;
    kv_bytes += shape.kv_heads * trace.tokens() * token_bytes(shape);
  }
  sum.index_share = static_cast<double>(sum.index_bytes) / static_cast<double>(kv_bytes);
  return sum;
}

}  // namespace tamis::cli
