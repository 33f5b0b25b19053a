// A confidence interval for the exponent C by resampling blocks of neighbouring rows.
#pragma once

#include <cstdint>

#include "lab/stats/series.h"

namespace tamis::lab::stats {

struct ConfidenceInterval {
  double low = 0;
  double high = 0;
};

/// Studentised circular block bootstrap of the slope of y on x. Blocks of dependence.block
/// consecutive (x, y) pairs are drawn with replacement until there are at least as many rows as
/// before. Takes O(rows·block + resamples·rows/block) time and O(rows + resamples) memory.
/// Deterministic for a seed.
ConfidenceInterval exponent_interval(const Series& series, const Line& line,
                                     const Dependence& dependence, double confidence,
                                     std::int64_t resamples, std::uint64_t seed);

}  // namespace tamis::lab::stats
