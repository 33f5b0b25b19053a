// Replicates: heads that have independent seeds, so that confidence intervals over them are valid.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "lab/experiments/experiment.h"
#include "lab/stats/estimate.h"

namespace tamis::lab::experiments {

/// The seed of one replicate. It has 53 bits, which JSON readers that store numbers
/// as doubles preserve.
std::uint64_t replicate_seed(std::uint64_t seed, std::int64_t replicate);
/// The seed of a point whose parameters contain the sweep's seed and the replicate.
std::uint64_t seed_of(const Json& parameters);

/// Collects a figure over n for every replicate.
class Growth {
 public:
  void add(std::int64_t replicate, double n, double log_value);
  /// The exponent C of n^C: the mean of the replicates' least-squares slopes over log n, with its
  /// interval. Empty if no replicate has two lengths.
  [[nodiscard]] std::optional<stats::Estimate> exponent(double confidence = 0.95) const;

 private:
  struct Points {
    std::vector<double> log_n;
    std::vector<double> log_value;
  };
  std::map<std::int64_t, Points> replicates_;
};

}  // namespace tamis::lab::experiments
