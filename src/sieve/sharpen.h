// Sharpening: reads deeper planes of the keys of a block whose uncertainty is above the waterline.
// For each key and level it costs rows·d multiply-adds and reads one row of a plane.
#pragma once

#include "sieve/look.h"

namespace tamis::sieve {

/// The weights of a block's keys after sharpening.
struct Sharpened {
  const float* weight;                                      ///< rows × 128: ê
  std::array<double, most_rows> used{};                     ///< Σ ê
  std::array<double, most_rows> spread{};                   ///< Σ δ
  std::array<std::int64_t, cache::most_levels> key_rows{};  ///< rows read of each plane
  std::array<std::uint32_t, 4> deepest{};  ///< bit j: key j was read to the last level
};

using PerRow = std::array<float, most_rows>;
/// Limits on weights: a key whose weight at level l is above limits[l][row] for some row is read to
/// level l + 1.
using Limits = std::array<PerRow, cache::most_levels>;

/// Returns the result for a block of which no deeper plane is read.
Sharpened not_sharpened(const Problem& problem, std::int64_t b, const Look& look);

/// Floats of scratch memory that sharpen_block() needs.
std::int64_t sharpen_scratch(const Problem& problem);
/// Sharpens the keys of block b that are above `limits`. `weight` holds rows × 128 estimates of the
/// look, or 0 for keys that are left out. The block must have planes beyond those of the look. The
/// result points into `weight` or `scratch`.
Sharpened sharpen_block(const Problem& problem, const cache::HeadBlock& block, std::int64_t b,
                        const Look& look, const float* weight, const Limits& limits,
                        float* scratch);

}  // namespace tamis::sieve
