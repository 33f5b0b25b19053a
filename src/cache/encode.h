// Codes one KV head of a block, and reads codes back. Encoding has a fixed order of single
// operations, so that every target makes identical bytes. Measured in readings of K and V by one
// thread it costs 5 (8 bits) to 7 (16 bits) with AVX-512 and 8 to 11 with AVX2, decoding 3 to 5 and
// 4 to 7.
#pragma once

#include <cstddef>
#include <cstdint>

#include <tamis/dtype.h>

#include "cache/block.h"
#include "kernels/kernels.h"

namespace tamis::cache {

/// Up to 128 tokens of one KV head: row j of keys is key_stride elements after row j − 1.
struct EncodeSource {
  const void* keys;
  const void* values;
  std::int64_t key_stride, value_stride;  ///< in elements
  DType dtype;                            ///< f32, f16 or bf16; every number is finite
  std::int32_t tokens;                    ///< 1 … 128; the codes of the rest are 0
  /// Bit j: token j is kept raw, as every token with a number beyond largest_coded must be. No bits
  /// from `tokens` on.
  std::array<std::uint32_t, 4> raw;
  /// Keys that are coded after these, of the same stride and fetched meanwhile; null for none.
  const void* next_keys = nullptr;
};

/// Where the planes of one head go; as HeadBlock, but written.
struct HeadPages {
  std::byte* record;
  std::array<std::uint8_t*, most_levels> key_plane;
  std::array<std::uint8_t*, most_levels> value_plane;
};
HeadPages head_pages(const Layout& layout, std::byte* const* pages, int levels, std::int64_t head);

/// Floats of scratch.
std::int64_t encode_scratch(const Layout& layout);
/// Writes every byte of the head's record and planes.
void encode_head(const kernels::Kernels& kernels, const Layout& layout, int levels,
                 const EncodeSource& source, float* scratch, const HeadPages& pages);

/// The numbers that the first `levels` planes of tokens first … first + count − 1 stand for, as
/// floats, rows of key_dim and value_dim `key_stride` and `value_stride` floats apart. Either may
/// be null. Raw tokens get whatever their codes say. Decoding m + t·ŷ rounds: docs/certificates.md
/// says by how much.
void decode_head(const kernels::Kernels& kernels, const HeadBlock& block, int levels,
                 std::int64_t first, std::int64_t count, float* keys, std::int64_t key_stride,
                 float* values, std::int64_t value_stride);

}  // namespace tamis::cache
