// Deeper planes of the keys of a block whose uncertainty is above the waterline. Costs rows·d
// multiply-adds and a row of a plane for each key and level.
#pragma once

#include "sieve/look.h"

namespace tamis::sieve {

/// What is known of a block's keys in the end.
struct Sharpened {
  const float* weight;                                      ///< rows × 128: ê
  std::array<double, most_rows> used{};                     ///< Σ ê
  std::array<double, most_rows> spread{};                   ///< Σ δ
  std::array<std::int64_t, cache::most_levels> key_rows{};  ///< read of each plane
  std::array<std::uint32_t, 4> deepest{};  ///< bit j: key j was read to the last level
};

using PerRow = std::array<float, most_rows>;
/// A key whose weight for some row is above limit[l][row] at level l is read to level l + 1.
using Limits = std::array<PerRow, cache::most_levels>;

/// A block of which no deeper plane is read.
Sharpened not_sharpened(const Problem& problem, std::int64_t b, const Look& look);

std::int64_t sharpen_scratch(const Problem& problem);
/// `weight`: rows × 128 estimates of the look, or 0 for keys that are left out. The block has
/// planes beyond those of the look.
Sharpened sharpen_block(const Problem& problem, const cache::HeadBlock& block, std::int64_t b,
                        const Look& look, const float* weight, const Limits& limits,
                        float* scratch);

}  // namespace tamis::sieve
