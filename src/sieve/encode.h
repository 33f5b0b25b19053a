// One block of keys and values into the records of the index.
#pragma once

#include <cstdint>

#include "kernels/kernels.h"
#include "sieve/layout.h"

namespace tamis {

/// What `encode_block` is given: 128 keys and values as stored.
struct BlockSource {
  const void* k;
  const void* v;
  std::int64_t k_stride;  ///< in elements
  std::int64_t v_stride;
  DType dtype;
  std::int64_t head;         ///< for messages
  std::int64_t first_token;  ///< of the block
  std::int64_t pinned;       ///< leading keys that are always read exactly
  const void* next_k;        ///< of the block that comes next, fetched meanwhile; or null
  const void* next_v;
};

/// Floats of scratch that encode_block needs.
std::int64_t encode_scratch(const Layout& layout);

/// Fills both records. Reads every key and value once from memory; about 40 operations on vectors for every
/// vector of a key and its value.
/// Throws `input`, naming head and token, if one is NaN or infinite.
void encode_block(const Kernels& kernels, const Layout& layout, const BlockSource& source, float* scratch,
                  CoarseBlock<std::byte> coarse, MiddleBlock<std::byte> middle);

}  // namespace tamis
