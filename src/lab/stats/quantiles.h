// Quantiles of a list, and bins of similar length.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include <tamis/lab/profile.h>

namespace tamis::lab::stats {

/// p10, median and p90 of the values; NaN if there are none.
Quantiles quantiles(std::vector<double> values);
double median(std::vector<double> values);

/// Places in n of the rows of one bin.
using BinRows = std::vector<std::size_t>;
/// Rows by ascending n in at most `bins` groups of about as many rows; rows of one length are never
/// parted.
std::vector<BinRows> length_bins(std::span<const double> n, std::int64_t bins);

}  // namespace tamis::lab::stats
