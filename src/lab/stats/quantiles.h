// Quantiles of a list, and bins of similar length.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include <tamis/lab/quantiles.h>

namespace tamis::lab::stats {

/// The p10, median and p90 of the values; NaN if there are none.
Quantiles quantiles(std::vector<double> values);
double median(std::vector<double> values);

/// The rows of one bin, as indices into n.
using BinRows = std::vector<std::size_t>;
/// Groups rows by ascending n into at most `bins` bins with about the same number of rows. Rows of
/// equal n are always in the same bin.
std::vector<BinRows> length_bins(std::span<const double> n, std::int64_t bins);

}  // namespace tamis::lab::stats
