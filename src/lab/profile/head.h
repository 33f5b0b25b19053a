// One head: from the figures of its rows to its profile.
#pragma once

#include <span>
#include <vector>

#include <tamis/lab/profile.h>

namespace tamis::lab::profiling {

/// Fills in figures.null; `nulls` has one entry per eps. A fraction of a microsecond per row and
/// eps.
void add_null(RowFigures& figures, std::span<const GaussianNull> nulls);
/// After add_null, with the same nulls. A few milliseconds per eps.
HeadProfile profile_head(const RowFigures& figures, std::int64_t layer, std::int64_t head,
                         std::int64_t queries, std::span<const GaussianNull> nulls,
                         const ProfileOptions& options);
/// Adds what the head's weights say.
void add_norm(HeadProfile& head, const WeightNorm& norm, std::optional<double> input_bound);
/// All rows of a layer, over ranges of length.
std::vector<CollapseBin> collapse_of(const RowFigures& figures, std::int64_t bins);

}  // namespace tamis::lab::profiling
