// How many tokens lie together.
#pragma once

#include <cstdint>

namespace tamis {

/// Consecutive tokens of one KV head that a page of K or V holds (kv.h), that a cache codes at once as
/// a block, and that a kernel works on in one call.
inline constexpr std::int64_t page_tokens = 128;

}  // namespace tamis
