// The numbers of a report: distributions over queries, and over what the queries of a KV head
// share.
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

/// Of at least one value. NaN counts as larger than anything, so that it shows in the maximum.
Distribution distribution(std::vector<double> values);

/// One number of every query, in the order of the layers.
std::vector<double> claims(std::span<const LayerResult> layers, double Certificate::*field);
std::vector<double> measured(std::span<const LayerResult> layers,
                             std::vector<double> LayerResult::*field);

/// True distance of the output by the norm of the exact output.
std::vector<double> relative_errors(std::span<const LayerResult> layers);

/// Claim by measurement, under --check, of the queries that were read sparsely: of the others only
/// rounding could be told.
std::vector<double> ratios(std::span<const LayerResult> layers, double Certificate::*claim,
                           std::vector<double> LayerResult::*truth);

/// What was read of what dense attention reads in 16 bits a number, for every KV head and query:
/// the queries that share a KV head share the reading.
using Count = std::function<std::int64_t(const LayerResult&, const Certificate&)>;
std::vector<double> key_shares(const lab::Trace& trace, std::span<const LayerResult> layers,
                               const Count& keys);
std::vector<double> byte_shares(std::span<const LayerResult> layers);

/// What dense attention reads, once per KV head and query.
std::int64_t dense_keys(const lab::Trace& trace, std::span<const LayerResult> layers);
std::int64_t dense_bytes(std::span<const LayerResult> layers);

/// Sums over the layers.
struct Totals {
  std::int64_t queries = 0;  ///< a query counts once per head and layer
  std::int64_t violations = 0;
  std::int64_t dense = 0;  ///< queries whose certificate says why everything was read
  std::array<std::int64_t, 4> reached{};  ///< by Reached
  double seconds = 0;
  std::int64_t cache_bytes = 0;
  double cache_share = 0;  ///< of K and V at 16 bits a number
  double append_seconds = 0;

  [[nodiscard]] std::int64_t count(Reached what) const {
    return reached[static_cast<std::size_t>(what)];
  }
};
Totals totals(std::span<const LayerResult> layers);

}  // namespace tamis::cli
