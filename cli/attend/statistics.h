// The numbers of a report: distributions over queries, or over pairs of a KV head and a query
// where query heads share what is read.
#pragma once

#include <array>
#include <functional>
#include <span>
#include <vector>

#include "attend/result.h"

namespace tamis::cli {

struct Distribution {
  double median = 0;  ///< the smallest value that half of the values do not exceed
  double p90 = 0;
  double max = 0;
  double mean = 0;
};

/// Returns the distribution of at least one value. NaN counts as larger than anything, so that it
/// shows in the maximum.
Distribution distribution(std::vector<double> values);

/// These return one number for every row, in the order of the layers.
std::vector<double> claims(std::span<const LayerResult> layers, double Certificate::*field);
std::vector<double> measured(std::span<const LayerResult> layers,
                             std::vector<double> LayerResult::*field);

/// Returns the true distance of each output divided by the norm of the exact output.
std::vector<double> relative_errors(std::span<const LayerResult> layers);

/// Returns each claim divided by its measurement, under --check, for the queries that were read
/// sparsely. For the other queries the ratio would only measure rounding.
std::vector<double> ratios(std::span<const LayerResult> layers, double Certificate::*claim,
                           std::vector<double> LayerResult::*truth);

/// These return what was read, divided by what dense attention reads with 16 bits per number.
/// There is one share for every pair of a KV head and a query, because queries that share a KV
/// head share the reading.
using Count = std::function<std::int64_t(const LayerResult&, const Certificate&)>;
std::vector<double> key_shares(const lab::Trace& trace, std::span<const LayerResult> layers,
                               const Count& keys);
std::vector<double> byte_shares(std::span<const LayerResult> layers);

/// These return what dense attention reads, counted once for every pair of a KV head and a query.
std::int64_t dense_keys(const lab::Trace& trace, std::span<const LayerResult> layers);
std::int64_t dense_bytes(std::span<const LayerResult> layers);

/// Sums over the layers.
struct Totals {
  std::int64_t queries = 0;  ///< a query counts once for each head and layer
  std::int64_t violations = 0;
  std::int64_t dense = 0;  ///< queries whose certificate says why everything was read
  std::array<std::int64_t, 4> reached{};  ///< indexed by Reached
  double seconds = 0;
  std::int64_t cache_bytes = 0;
  double cache_share = 0;  ///< cache_bytes divided by K and V at 16 bits per number
  double append_seconds = 0;

  [[nodiscard]] std::int64_t count(Reached what) const {
    return reached[static_cast<std::size_t>(what)];
  }
};
Totals totals(std::span<const LayerResult> layers);

}  // namespace tamis::cli
