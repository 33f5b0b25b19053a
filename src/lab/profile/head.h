// Makes the profile of one head from the figures of its rows.
#pragma once

#include <span>
#include <vector>

#include <tamis/lab/profile.h>

namespace tamis::lab::profiling {

/// Fills in figures.null. `nulls` must have one entry per eps. Takes a fraction of a microsecond
/// per row and eps.
void add_null(RowFigures& figures, std::span<const GaussianNull> nulls);
/// Makes a head's profile. add_null must have been called with the same nulls. Takes a few
/// milliseconds per eps.
HeadProfile profile_head(const RowFigures& figures, std::int64_t layer, std::int64_t head,
                         std::int64_t queries, std::span<const GaussianNull> nulls,
                         const ProfileOptions& options);
/// Adds what follows from the norm of the head's weights.
void add_norm(HeadProfile& head, const WeightNorm& norm, std::optional<double> input_bound);
/// Collapse of a layer: quantiles over all its rows, by bins of length.
std::vector<CollapseBin> collapse_of(const RowFigures& figures, std::int64_t bins);

}  // namespace tamis::lab::profiling
