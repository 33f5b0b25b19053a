// A block: up to 128 tokens of all KV heads, coded once and never changed, and where things lie in
// it.
//
// Numbers are coded in L = bits/4 planes of 4 bits. A channel of a block has a centre m and a step
// t > 0; with y = (x − m)/t, |y| < 8, the code is the integer nearest to 16^(L−1)·y + (16^L − 1)/2.
// Plane p holds the p-th nibble from above. Level l knows planes 0 … l:
//   x̂_l = m + t·((code >> 4(L−1−l)) − (16^(l+1) − 1)/2)/16^l.
// The centre of keys is the middle of their range, that of values their mean. Page 0 of a block
// holds, for each KV head, a record (all that a first look reads, in one stretch) and plane 0 of
// the values; page p > 0 holds plane p of keys and of values, for each KV head.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include <tamis/page.h>

namespace tamis::cache {

inline constexpr int most_levels = 4;
/// Numbers beyond it are not coded: their tokens stay raw, so that no sum of squares can overflow.
inline constexpr float largest_coded = 0x1p55F;

/// What a record begins with. Norms are Euclidean and rounded up, over the tokens that are not raw.
struct BlockHead {
  float key_unit;     ///< a power of 2: centres and steps of keys are key_unit·f16
  float value_unit;   ///< the same of values
  float centre_norm;  ///< ‖centre of keys‖
  float reach;        ///< ‖(k̂_l − m)/t‖ over all levels, at most
  std::array<float, most_levels> key_missing;  ///< ‖(k − k̂_l)/t‖, at most; 0 beyond the last level
  std::array<float, most_levels> value_missing;  ///< ‖v − v̂_l‖, at most
  float value_radius;                            ///< ‖v − centre of values‖, at most
  float value_spread;  ///< the same, root mean square: for choosing what to read, not for bounds
  float value_norm;    ///< ‖v‖, at most
  std::array<std::uint32_t, 4> raw;  ///< bit j: token j is kept raw, and its codes mean nothing
  std::uint8_t raw_tokens;           ///< how many
  std::uint8_t tokens;               ///< coded, raw ones among them: 1 … 128
  std::uint8_t levels;
  std::uint8_t zero;
};
static_assert(sizeof(BlockHead) == 80);

/// Sizes and places, by the head sizes alone. d32 is a head size rounded up to a multiple of 32;
/// centres, steps and codes of the channels in between are 0.
struct Layout {
  Layout(std::int64_t kv_heads, std::int64_t key_dim, std::int64_t value_dim);

  std::int64_t kv_heads, key_dim, key_d32, value_dim, value_d32;
  /// In a record: f16 centres and steps, plane 0 of keys, which begins at a multiple of 64.
  std::size_t key_centre, key_step, value_centre, value_step, key_plane0;
  std::size_t record_bytes;
  std::size_t key_plane_bytes, value_plane_bytes;

  /// Bytes of page p of a block: for each KV head one half (record or plane of keys), then the
  /// plane of values.
  [[nodiscard]] std::size_t page_bytes(int page) const {
    return static_cast<std::size_t>(kv_heads) * head_bytes(page);
  }
  [[nodiscard]] std::size_t head_bytes(int page) const {
    return (page == 0 ? record_bytes : key_plane_bytes) + value_plane_bytes;
  }
  /// Bytes of a row of a plane.
  [[nodiscard]] std::int64_t key_row() const { return key_d32 / 2; }
  [[nodiscard]] std::int64_t value_row() const { return value_d32 / 2; }
};

/// One KV head of a block.
struct HeadBlock {
  const Layout* layout;
  const std::byte* record;
  /// Plane 0 of keys lies in tiles of 16 tokens (the "high plane" of kernels/planes.h), the others
  /// in rows of key_row() bytes per token (its "low plane"); planes of values in rows of
  /// value_row() bytes (its "codes of values"). Null where a page has been shed.
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

/// KV head `head` of a block whose first `levels` pages are given.
HeadBlock head_block(const Layout& layout, const std::byte* const* pages, int levels,
                     std::int64_t head);

}  // namespace tamis::cache
