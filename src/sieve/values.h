// Adds up the values of a block. For each value it uses the mean of the block, or reads as many
// planes as the value's weight requires. Costs rows·d_v multiply-adds and a row of a plane for each
// value and plane that is read, and a pass over the centres.
#pragma once

#include "sieve/look.h"
#include "sieve/sharpen.h"
#include "sieve/waterline.h"

namespace tamis::sieve {

struct ValuesRead {
  std::array<double, most_rows> product{};                    ///< Σ ê·r
  std::array<std::int64_t, cache::most_levels> value_rows{};  ///< rows read of each plane
};

/// Floats of scratch memory that add_values() needs.
std::int64_t values_scratch(const Problem& problem);
/// Adds Σ ê·v̂ to `out`, rows of value_d32 floats. A value is read to the lowest level at which ê·r
/// is at most `threshold`, in the units of the block's span. `all_below` means that no value
/// exceeds the threshold, so that none is read.
ValuesRead add_values(const Problem& problem, const cache::HeadBlock& block, const Sharpened& keys,
                      int levels, const PerRow& threshold, bool all_below, float* scratch,
                      float* out);

}  // namespace tamis::sieve
