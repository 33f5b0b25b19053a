// Checks a block that was read from a file before attention may use it. After the checks no centre,
// step, unit or norm has a value that encoding never writes, whatever the file contained.
#pragma once

#include <cstdint>
#include <string>

#include "cache/block.h"
#include "cache/raw.h"

namespace tamis::cache {

/// Checks the records of all KV heads on page 0 of a block with `levels` levels and `raw_tokens`
/// raw tokens, among them tokens 0 … sinks − 1. Returns which tokens are raw. Throws `input`,
/// naming the file and what is wrong, if a record has a value that encoding never writes.
TokenMask check_records(const std::string& file, const Layout& layout, int levels,
                        std::int64_t sinks, std::int64_t raw_tokens, const std::byte* page0);

}  // namespace tamis::cache
