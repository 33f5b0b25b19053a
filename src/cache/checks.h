// What a block from a file must be before attention may read it: whatever the file held, no later
// step meets a number that encoding never writes.
#pragma once

#include <cstdint>
#include <string>

#include "cache/block.h"
#include "cache/raw.h"

namespace tamis::cache {

/// Throws `input`, naming the file and what is wrong, unless the records of all KV heads on page 0
/// are such as a block of `levels` levels whose tokens 0 … sinks − 1 and `raw_tokens` in all are
/// raw may have. Returns which tokens are raw.
TokenMask check_records(const std::string& file, const Layout& layout, int levels,
                        std::int64_t sinks, std::int64_t raw_tokens, const std::byte* page0);

}  // namespace tamis::cache
