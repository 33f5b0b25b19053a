// Encodes and decodes one KV head of a block. Encoding performs its operations in a fixed order, so
// that every target writes identical bytes. On one thread it takes as long as reading K and V 5
// times (8 bits) to 7 times (16 bits) with AVX-512, and 8 to 11 times with AVX2; decoding takes as
// long as 3 to 5 and 4 to 7 readings.
#pragma once

#include <cstddef>
#include <cstdint>

#include <tamis/dtype.h>

#include "cache/block.h"
#include "kernels/kernels.h"

namespace tamis::cache {

/// Up to 128 tokens of one KV head in the caller's memory.
struct EncodeSource {
  const void* keys;
  const void* values;
  std::int64_t key_stride, value_stride;  ///< from one token's row to the next, in elements
  DType dtype;                            ///< f32, f16 or bf16; every number is finite
  std::int32_t tokens;                    ///< 1 … 128; the codes of the other tokens are 0
  /// Bit j: token j is kept raw, as every token with a number beyond largest_coded must be. Bits
  /// from `tokens` on are 0.
  std::array<std::uint32_t, 4> raw;
  /// The keys that will be encoded next, with the same stride; they are prefetched. May be null.
  const void* next_keys = nullptr;
};

/// Where the record and planes of one head are written, laid out as in HeadBlock.
struct HeadPages {
  std::byte* record;
  std::array<std::uint8_t*, most_levels> key_plane;
  std::array<std::uint8_t*, most_levels> value_plane;
};
HeadPages head_pages(const Layout& layout, std::byte* const* pages, int levels, std::int64_t head);

/// Floats of scratch memory that encode_head needs.
std::int64_t encode_scratch(const Layout& layout);
/// Encodes one KV head. Writes every byte of its record and planes.
void encode_head(const kernels::Kernels& kernels, const Layout& layout, int levels,
                 const EncodeSource& source, float* scratch, const HeadPages& pages);

/// Decodes tokens first … first + count − 1 from their first `levels` planes to rows of key_dim and
/// value_dim floats, `key_stride` and `value_stride` floats apart. `keys` or `values` may be null.
/// The rows of raw tokens are meaningless. The sum m + t·ŷ is rounded; docs/certificates.md bounds
/// the error.
void decode_head(const kernels::Kernels& kernels, const HeadBlock& block, int levels,
                 std::int64_t first, std::int64_t count, float* keys, std::int64_t key_stride,
                 float* values, std::int64_t value_stride);

}  // namespace tamis::cache
