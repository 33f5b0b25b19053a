// Raw tokens: the layout of their rows in a page, and copying the caller's rows into it.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include <tamis/cache.h>

#include "cache/block.h"
#include "cache/view.h"
#include "kernels/kernels.h"

namespace tamis::cache {

/// The layout of a page for 1, 2, 4 … or 128 raw tokens. It holds the keys of each KV head, then
/// the values of each KV head, then one byte per token for its position in a block, without gaps.
struct RawLayout {
  RawLayout(const Heads& heads, DType stored);

  DType dtype;
  std::int64_t kv_heads;
  std::int64_t key_dim, value_dim;
  std::size_t key_bytes, value_bytes;  ///< bytes of a row

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

/// The number of sizes of raw pages. A page of size number s has room for 2^s tokens.
inline constexpr int raw_sizes = 8;
static_assert(std::int64_t{1} << (raw_sizes - 1) == page_tokens);
/// The number of the smallest size with room for `tokens` tokens.
int raw_size_for(std::int64_t tokens);

/// The keys or the values of a call, with `dim` channels; the cache stores them as `dtype`.
struct IncomingRows {
  const Rows* rows;
  DType dtype;
  std::int64_t dim;

  /// Returns row `row` of KV head `head` of a sequence whose first row begins
  /// at element `sequence_offset`.
  [[nodiscard]] const std::byte* at(std::int64_t sequence_offset, std::int64_t row,
                                    std::int64_t head) const;
  /// Whether rows can be encoded from the caller's memory: they must have the cache's type and its
  /// alignment, and their channels must be contiguous.
  [[nodiscard]] bool as_stored() const {
    const auto address = reinterpret_cast<std::uintptr_t>(rows->data);
    return rows->dtype == dtype && rows->channel_stride == 1 &&
           address % static_cast<std::uintptr_t>(size_of(dtype)) == 0;
  }
  /// Copies rows first … first + count − 1 to `to`, without gaps. Returns whether all
  /// numbers are finite.
  [[nodiscard]] bool store(const kernels::Kernels& kernels, std::int64_t sequence_offset,
                           std::int64_t first, std::int64_t count, std::int64_t head,
                           std::byte* to) const;
};

/// Whether all `count` numbers are finite.
bool all_finite(DType dtype, const std::byte* numbers, std::int64_t count);
/// Whether no number's magnitude exceeds largest_coded. False also for infinities and NaN.
bool all_coded(DType dtype, const std::byte* numbers, std::int64_t count);
/// Returns one number as a float.
float number_at(DType dtype, const std::byte* number);

std::int64_t count_mask(const TokenMask& mask);

/// The keys and values of one KV head of a whole block. Strides from row to row are in elements.
struct BlockRows {
  const std::byte* keys;
  const std::byte* values;
  std::int64_t key_stride, value_stride;
};
/// Adds to `mask` the tokens with a number that cannot be coded, because its magnitude exceeds
/// largest_coded. Returns whether all numbers are finite.
bool add_beyond_codes(const RawLayout& layout, const BlockRows& rows, TokenMask& mask);

}  // namespace tamis::cache
