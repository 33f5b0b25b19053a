#include "cache/checks.h"

#include <algorithm>
#include <cmath>
#include <span>

#include "core/fail.h"

namespace tamis::cache {
namespace {

// The range of what encoding produces from numbers up to largest_coded = 2^55. The largest number
// of a block is 2^14 … 2^15 units, and the unit of a block of zeros is 2^-100. A step is at least
// 2^-14 units and at most an eighth of the largest distance from a centre, 2^16 units. So no
// decoded number exceeds 2^59, and no sum of squares of a row overflows.
constexpr float least_unit = 0x1p-100F;
constexpr float largest_unit = 0x1p41F;
constexpr std::uint16_t f16_magnitude = 0x7FFF;
constexpr std::uint16_t largest_centre = 0x7800;  // 2^15
constexpr std::uint16_t least_step = 0x0400;      // 2^-14
constexpr std::uint16_t largest_step = 0x7400;    // 2^14: an eighth of 2^16, with room for rounding
constexpr float largest_norm = 0x1p62F;  // 2^61 for 1,024 channels of 2^56, with room for rounding

bool right_unit(float unit) {
  int exponent = 0;
  return unit >= least_unit && unit <= largest_unit && std::frexp(unit, &exponent) == 0.5F;
}

bool right_norm(float norm) { return norm >= 0 && norm <= largest_norm; }

bool right_norms(const BlockHead& head) {
  const auto above_levels = [&](const std::array<float, most_levels>& missing) {
    return std::all_of(missing.begin() + head.levels, missing.end(),
                       [](float x) { return x == 0; });
  };
  return right_norm(head.centre_norm) && right_norm(head.reach) && right_norm(head.value_radius) &&
         right_norm(head.value_spread) && right_norm(head.value_norm) &&
         std::ranges::all_of(head.key_missing, right_norm) &&
         std::ranges::all_of(head.value_missing, right_norm) && above_levels(head.key_missing) &&
         above_levels(head.value_missing);
}

/// Padding channels must have a centre and a step of 0.
bool right_channels(const std::uint16_t* centre, const std::uint16_t* step, std::int64_t dim,
                    std::int64_t padded) {
  for (std::int64_t c = 0; c < padded; ++c) {
    const bool right = c < dim ? (centre[c] & f16_magnitude) <= largest_centre &&
                                     step[c] >= least_step && step[c] <= largest_step
                               : centre[c] == 0 && step[c] == 0;
    if (!right) return false;
  }
  return true;
}

}  // namespace

TokenMask check_records(const std::string& file, const Layout& layout, int levels,
                        std::int64_t sinks, std::int64_t raw_tokens, const std::byte* page0) {
  const auto expect = [&](bool right, std::int64_t head, const char* what) {
    if (!right)
      core::fail(
          Code::input,
          "{}: {} of KV head {} of a block is none that tamis writes; save the sequence again",
          file, what, head);
  };
  const TokenMask raw = head_block(layout, &page0, 1, 0).head().raw;
  for (std::int64_t h = 0; h < layout.kv_heads; ++h) {
    const HeadBlock block = head_block(layout, &page0, 1, h);
    const BlockHead& head = block.head();
    expect(head.levels == levels && head.zero == 0, h, "the number of levels");
    expect(head.tokens == page_tokens, h, "the number of tokens");
    expect(head.raw == raw && head.raw_tokens == raw_tokens && count_mask(raw) == raw_tokens, h,
           "the list of raw tokens");
    for (std::int64_t j = 0; j < sinks; ++j) expect(in_mask(raw, j), h, "the list of raw tokens");
    expect(right_unit(head.key_unit) && right_unit(head.value_unit), h, "a unit");
    expect(right_norms(head), h, "a norm");
    expect(right_channels(block.key_centre(), block.key_step(), layout.key_dim, layout.key_d32), h,
           "a centre or step of keys");
    expect(right_channels(block.value_centre(), block.value_step(), layout.value_dim,
                          layout.value_d32),
           h, "a centre or step of values");
  }
  return raw;
}

}  // namespace tamis::cache
