#include "cache/raw.h"

#include <bit>
#include <cmath>
#include <cstring>

#include "attention/dense.h"

namespace tamis::cache {
namespace {

/// Returns whether one of `count` numbers has a magnitude of at least `limit` > 0, compared as bit
/// patterns of type Bits. It adds (sign bit − limit) to each magnitude: this sets the sign bit
/// exactly if the magnitude is at least `limit`, and never carries into the next number.
template <class Bits>
bool any_from(const std::byte* numbers, std::int64_t count, Bits limit) {
  constexpr auto sign = static_cast<Bits>(Bits{1} << (8 * sizeof(Bits) - 1));
  constexpr auto per_word = static_cast<std::int64_t>(sizeof(std::uint64_t) / sizeof(Bits));
  constexpr std::uint64_t each =
      ~std::uint64_t{0} / static_cast<Bits>(~Bits{0});  // a 1 in the place of every number
  const std::uint64_t magnitudes = each * static_cast<Bits>(sign - 1);
  const std::uint64_t missing = each * static_cast<Bits>(sign - limit);
  std::uint64_t carried = 0;
  std::int64_t i = 0;
  for (; i + per_word <= count; i += per_word) {
    std::uint64_t word = 0;
    std::memcpy(&word, numbers + static_cast<std::size_t>(i) * sizeof(Bits), sizeof word);
    carried |= (word & magnitudes) + missing;
  }
  if (i < count) {
    std::uint64_t word = 0;
    std::memcpy(&word, numbers + static_cast<std::size_t>(i) * sizeof(Bits),
                static_cast<std::size_t>(count - i) * sizeof(Bits));
    carried |= (word & magnitudes) + missing;
  }
  return (carried & (each * sign)) != 0;
}

struct Limits {
  std::uint32_t infinite;  ///< bit pattern of infinity
  std::uint32_t beyond;    ///< that of the smallest number above largest_coded, or of infinity
};

Limits limits(DType dtype) {
  constexpr auto largest = std::bit_cast<std::uint32_t>(largest_coded);
  if (dtype == DType::f32) return {0x7F80'0000U, largest + 1};
  if (dtype == DType::bf16) return {0x7F80U, (largest >> 16) + 1};
  return {0x7C00U, 0x7C00U};
}

bool all_below(DType dtype, const std::byte* numbers, std::int64_t count, std::uint32_t limit) {
  return dtype == DType::f32
             ? !any_from<std::uint32_t>(numbers, count, limit)
             : !any_from<std::uint16_t>(numbers, count, static_cast<std::uint16_t>(limit));
}

}  // namespace

RawLayout::RawLayout(const Heads& heads, DType stored)
    : dtype(stored),
      kv_heads(heads.kv_heads),
      key_dim(heads.key_dim),
      value_dim(heads.value_dim),
      key_bytes(static_cast<std::size_t>(heads.key_dim * size_of(stored))),
      value_bytes(static_cast<std::size_t>(heads.value_dim * size_of(stored))) {}

int raw_size_for(std::int64_t tokens) {
  return static_cast<int>(std::bit_width(static_cast<std::uint64_t>(tokens - 1)));
}

bool all_finite(DType dtype, const std::byte* numbers, std::int64_t count) {
  return all_below(dtype, numbers, count, limits(dtype).infinite);
}

bool all_coded(DType dtype, const std::byte* numbers, std::int64_t count) {
  return all_below(dtype, numbers, count, limits(dtype).beyond);
}

float number_at(DType dtype, const std::byte* number) {
  std::uint32_t bits = 0;
  std::memcpy(&bits, number, static_cast<std::size_t>(size_of(dtype)));
  if (dtype == DType::f32) return std::bit_cast<float>(bits);
  if (dtype == DType::bf16) return to_float(bf16{static_cast<std::uint16_t>(bits)});
  return to_float(f16{static_cast<std::uint16_t>(bits)});
}

const std::byte* IncomingRows::at(std::int64_t sequence_offset, std::int64_t row,
                                  std::int64_t head) const {
  return static_cast<const std::byte*>(rows->data) +
         (sequence_offset + row * rows->token_stride + head * rows->head_stride) *
             size_of(rows->dtype);
}

bool IncomingRows::store(const kernels::Kernels& kernels, std::int64_t sequence_offset,
                         std::int64_t first, std::int64_t count, std::int64_t head,
                         std::byte* to) const {
  const std::int64_t size = size_of(dtype);
  const std::int64_t step = rows->channel_stride * size_of(rows->dtype);
  bool finite = true;
  for (std::int64_t i = 0; i < count; ++i) {
    std::byte* const row = to + i * dim * size;
    const std::byte* const from = at(sequence_offset, first + i, head);
    if (rows->channel_stride == 1 && rows->dtype == dtype) {
      std::memcpy(row, from, static_cast<std::size_t>(dim * size));
    } else if (rows->channel_stride == 1) {
      kernels.widen[attention::kv_type(rows->dtype)](from, reinterpret_cast<float*>(row), dim);
    } else if (rows->dtype == dtype) {
      for (std::int64_t c = 0; c < dim; ++c)
        std::memcpy(row + c * size, from + c * step, static_cast<std::size_t>(size));
    } else {
      for (std::int64_t c = 0; c < dim; ++c) {
        const float x = number_at(rows->dtype, from + c * step);
        std::memcpy(row + c * size, &x, sizeof x);
      }
    }
    finite = all_finite(dtype, row, dim) && finite;
  }
  return finite;
}

std::int64_t count_mask(const TokenMask& mask) {
  std::int64_t count = 0;
  for (const std::uint32_t word : mask) count += std::popcount(word);
  return count;
}

bool add_beyond_codes(const RawLayout& layout, const BlockRows& rows, TokenMask& mask) {
  bool finite = true;
  const auto look = [&](const std::byte* first, std::int64_t stride, std::int64_t dim) {
    if (stride == dim && all_coded(layout.dtype, first, page_tokens * dim)) return;
    for (std::int64_t j = 0; j < page_tokens; ++j) {
      const std::byte* const row = first + j * stride * size_of(layout.dtype);
      if (all_coded(layout.dtype, row, dim)) continue;
      add_to_mask(mask, j);
      finite = all_finite(layout.dtype, row, dim) && finite;
    }
  };
  look(rows.keys, rows.key_stride, layout.key_dim);
  look(rows.values, rows.value_stride, layout.value_dim);
  return finite;
}

}  // namespace tamis::cache
