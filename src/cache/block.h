// The memory layout of a block: up to 128 tokens of all KV heads, coded once and never changed.
//
// Numbers are coded in L = bits/4 planes of 4 bits. A channel of a block has a centre m and a step
// t > 0; with y = (x − m)/t, |y| < 8, the code is the integer nearest to 16^(L−1)·y + (16^L − 1)/2.
// Plane p holds the p-th nibble, counted from the highest. Decoding at level l uses planes 0 … l:
//   x̂_l = m + t·((code >> 4(L−1−l)) − (16^(l+1) − 1)/2)/16^l.
// The centre is the middle of the range for keys and the mean for values. Page 0 of a block holds,
// for each KV head, a record (everything that a first look at one plane reads, contiguous) and
// plane 0 of the values; page p > 0 holds, for each KV head, plane p of the keys and of the values.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include <tamis/page.h>

namespace tamis::cache {

/// A set of tokens of a block: bit j stands for token j.
using TokenMask = std::array<std::uint32_t, 4>;
inline bool in_mask(const TokenMask& mask, std::int64_t j) {
  return (mask[static_cast<std::size_t>(j / 32)] >> (j % 32) & 1U) != 0;
}
inline void add_to_mask(TokenMask& mask, std::int64_t j) {
  mask[static_cast<std::size_t>(j / 32)] |= 1U << (j % 32);
}

inline constexpr int most_levels = 4;
/// Tokens with a number of larger magnitude stay raw, so that no sum of squares can overflow.
inline constexpr float largest_coded = 0x1p55F;

/// The header of a record. All norms are Euclidean and, except value_spread, upper bounds over the
/// tokens that are not raw.
struct BlockHead {
  float key_unit;     ///< a power of 2: centres and steps of keys are key_unit·f16
  float value_unit;   ///< the same for values
  float centre_norm;  ///< ‖centre of keys‖
  float reach;        ///< bounds ‖(k̂_l − m)/t‖ for all levels l
  std::array<float, most_levels> key_missing;  ///< bounds ‖(k − k̂_l)/t‖; 0 beyond the last level
  std::array<float, most_levels> value_missing;  ///< bounds ‖v − v̂_l‖; 0 beyond the last level
  float value_radius;                            ///< bounds ‖v − centre of values‖
  /// Root mean square of ‖v − centre of values‖. It bounds nothing and only helps to choose what
  /// to read.
  float value_spread;
  float value_norm;         ///< bounds ‖v‖
  TokenMask raw;            ///< bit j: token j is kept raw, and its codes mean nothing
  std::uint8_t raw_tokens;  ///< number of bits set in `raw`
  std::uint8_t tokens;      ///< tokens of the block including raw ones, 1 … 128
  std::uint8_t levels;
  std::uint8_t zero;  ///< always 0
};
static_assert(sizeof(BlockHead) == 80);

/// Sizes and offsets, which depend on the head sizes alone. d32 is a head size rounded up to a
/// multiple of 32; centres, steps and codes of the padding channels are 0.
struct Layout {
  Layout(std::int64_t kv_heads, std::int64_t key_dim, std::int64_t value_dim);

  std::int64_t kv_heads, key_dim, key_d32, value_dim, value_d32;
  /// Byte offsets in a record of the f16 centres and steps, and of plane 0 of keys (a
  /// multiple of 64).
  std::size_t key_centre, key_step, value_centre, value_step, key_plane0;
  std::size_t record_bytes;
  std::size_t key_plane_bytes, value_plane_bytes;

  /// Bytes of a page of a block: for each KV head the record (page 0) or plane of keys, then the
  /// plane of values.
  [[nodiscard]] std::size_t page_bytes(int page) const {
    return static_cast<std::size_t>(kv_heads) * head_bytes(page);
  }
  [[nodiscard]] std::size_t head_bytes(int page) const {
    return (page == 0 ? record_bytes : key_plane_bytes) + value_plane_bytes;
  }
  /// Bytes of one token in a plane.
  [[nodiscard]] std::int64_t key_row() const { return key_d32 / 2; }
  [[nodiscard]] std::int64_t value_row() const { return value_d32 / 2; }
};

/// Pointers to one KV head of a block.
struct HeadBlock {
  const Layout* layout;
  const std::byte* record;
  /// Plane 0 of keys is stored in tiles of 16 tokens (the "high plane" of kernels/planes.h), the
  /// other planes of keys in rows of key_row() bytes per token (its "low plane"), and planes of
  /// values in rows of value_row() bytes per token (its "codes of values"). Null for pages that are
  /// not given, such as shed ones.
  std::array<const std::uint8_t*, most_levels> key_plane;
  std::array<const std::uint8_t*, most_levels> value_plane;

  [[nodiscard]] const BlockHead& head() const {
    return *reinterpret_cast<const BlockHead*>(record);
  }
  [[nodiscard]] const std::uint16_t* key_centre() const { return f16_at(layout->key_centre); }
  [[nodiscard]] const std::uint16_t* key_step() const { return f16_at(layout->key_step); }
  [[nodiscard]] const std::uint16_t* value_centre() const { return f16_at(layout->value_centre); }
  [[nodiscard]] const std::uint16_t* value_step() const { return f16_at(layout->value_step); }

 private:
  [[nodiscard]] const std::uint16_t* f16_at(std::size_t offset) const {
    return reinterpret_cast<const std::uint16_t*>(record + offset);
  }
};

/// Returns KV head `head` of a block, of which `pages` holds the first `levels` pages.
HeadBlock head_block(const Layout& layout, const std::byte* const* pages, int levels,
                     std::int64_t head);

}  // namespace tamis::cache
