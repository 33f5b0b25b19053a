// Raw tokens: where their rows lie in a page, and how the caller's rows get there.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include <tamis/cache.h>

#include "cache/block.h"
#include "cache/view.h"
#include "kernels/kernels.h"

namespace tamis::cache {

/// Pages of raw tokens hold 1, 2, 4 … 128 of them: keys of each KV head, values of each KV head,
/// and a byte per token for its place in a block, all densely.
struct RawLayout {
  RawLayout(const Heads& heads, DType stored);

  DType dtype;
  std::int64_t kv_heads;
  std::int64_t key_dim, value_dim;
  std::size_t key_bytes, value_bytes;  ///< of a row

  [[nodiscard]] std::size_t page_bytes(std::int64_t rows) const {
    return (places_at(rows) + static_cast<std::size_t>(rows) + 63) / 64 * 64;
  }
  [[nodiscard]] std::size_t values_at(std::int64_t rows) const {
    return static_cast<std::size_t>(kv_heads * rows) * key_bytes;
  }
  [[nodiscard]] std::size_t places_at(std::int64_t rows) const {
    return values_at(rows) + static_cast<std::size_t>(kv_heads * rows) * value_bytes;
  }
  template <class Byte>
  [[nodiscard]] Byte* key(Byte* page, std::int64_t rows, std::int64_t head,
                          std::int64_t row) const {
    return page + static_cast<std::size_t>(head * rows + row) * key_bytes;
  }
  template <class Byte>
  [[nodiscard]] Byte* value(Byte* page, std::int64_t rows, std::int64_t head,
                            std::int64_t row) const {
    return page + values_at(rows) + static_cast<std::size_t>(head * rows + row) * value_bytes;
  }
};

/// How many tokens a page is for, by the number of its size: 2^size.
inline constexpr int raw_sizes = 8;
static_assert(std::int64_t{1} << (raw_sizes - 1) == page_tokens);
/// The least size that holds `tokens` of them.
int raw_size_for(std::int64_t tokens);

/// The rows of keys or values of a call, one KV head at a time: they are stored as `dtype`, `dim`
/// channels.
struct IncomingRows {
  const Rows* rows;
  DType dtype;
  std::int64_t dim;

  /// Row `row` of `head` where sequence_stride has been applied already.
  [[nodiscard]] const std::byte* at(std::int64_t sequence_offset, std::int64_t row,
                                    std::int64_t head) const;
  /// Whether rows can be coded from where they are: of the cache's type and aligned for it,
  /// channels next to each other.
  [[nodiscard]] bool as_stored() const {
    const auto address = reinterpret_cast<std::uintptr_t>(rows->data);
    return rows->dtype == dtype && rows->channel_stride == 1 &&
           address % static_cast<std::uintptr_t>(size_of(dtype)) == 0;
  }
  /// Stores rows first … first + count − 1 densely at `to`. Returns whether all of them are finite.
  [[nodiscard]] bool store(const kernels::Kernels& kernels, std::int64_t sequence_offset,
                           std::int64_t first, std::int64_t count, std::int64_t head,
                           std::byte* to) const;
};

/// Whether all `count` numbers are finite.
bool all_finite(DType dtype, const std::byte* numbers, std::int64_t count);
/// Whether none of them is beyond largest_coded.
bool all_coded(DType dtype, const std::byte* numbers, std::int64_t count);
/// One number, as a float.
float number_at(DType dtype, const std::byte* number);

using TokenMask = std::array<std::uint32_t, 4>;
inline bool in_mask(const TokenMask& mask, std::int64_t j) {
  return (mask[static_cast<std::size_t>(j / 32)] >> (j % 32) & 1U) != 0;
}
inline void add_to_mask(TokenMask& mask, std::int64_t j) {
  mask[static_cast<std::size_t>(j / 32)] |= 1U << (j % 32);
}
std::int64_t count_mask(const TokenMask& mask);

/// One KV head's keys and values of a whole block, rows so many elements apart.
struct BlockRows {
  const std::byte* keys;
  const std::byte* values;
  std::int64_t key_stride, value_stride;
};
/// Adds the tokens that no code can hold. Returns whether all numbers are finite.
bool add_beyond_codes(const RawLayout& layout, const BlockRows& rows, TokenMask& mask);

}  // namespace tamis::cache
