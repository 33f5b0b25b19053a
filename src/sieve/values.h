// Values of a block: for each the mean of the block, or as many planes as its weight deserves.
// Costs rows·d multiply-adds and a row of a plane for each value and plane, and a pass over the
// centres.
#pragma once

#include "sieve/look.h"
#include "sieve/sharpen.h"
#include "sieve/waterline.h"

namespace tamis::sieve {

struct ValuesRead {
  std::array<double, most_rows> product{};  ///< Σ ê·r
  std::array<std::int64_t, cache::most_levels> value_rows{};
};

std::int64_t values_scratch(const Problem& problem);
/// Adds Σ ê·v̂ to `out`, rows of value_d32 floats. `threshold` is on ê·r, in the units of the
/// block's span; `all_below` says that it is known to be above all of them.
ValuesRead add_values(const Problem& problem, const cache::HeadBlock& block, const Sharpened& keys,
                      int levels, const PerRow& threshold, bool all_below, float* scratch,
                      float* out);

}  // namespace tamis::sieve
