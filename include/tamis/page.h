// The number of tokens in a page or block.
#pragma once

#include <cstdint>

namespace tamis {

/// The number of consecutive tokens of one KV head that a page of K or V holds (kv.h), that a cache
/// codes together as a block, and that a kernel works on in one call.
inline constexpr std::int64_t page_tokens = 128;

}  // namespace tamis
