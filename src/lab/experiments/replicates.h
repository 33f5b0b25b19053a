// Replicates: heads of seeds of their own, so that intervals over them are those of independent
// numbers.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "lab/experiments/experiment.h"
#include "lab/stats/estimate.h"

namespace tamis::lab::experiments {

/// The seed of one replicate: of 53 bits, which JSON readers that know only doubles keep.
std::uint64_t replicate_seed(std::uint64_t seed, std::int64_t replicate);
/// That of a point whose parameters hold the sweep's seed and the replicate.
std::uint64_t seed_of(const Json& parameters);

/// A figure over n, replicate by replicate.
class Growth {
 public:
  void add(std::int64_t replicate, double n, double log_value);
  /// The exponent C of n^C: the mean of the replicates' least-squares slopes over log n. Nothing if
  /// no replicate has two lengths.
  [[nodiscard]] std::optional<stats::Estimate> exponent(double confidence = 0.95) const;

 private:
  struct Points {
    std::vector<double> log_n;
    std::vector<double> log_value;
  };
  std::map<std::int64_t, Points> replicates_;
};

}  // namespace tamis::lab::experiments
