// A view of a sequence for attention: its blocks and its raw tokens. It is valid until the
// sequence changes.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include <tamis/cache.h>

#include "cache/block.h"

namespace tamis::cache {

/// A coded block as one sequence uses it.
struct CodedBlock {
  std::array<const std::byte*, most_levels> page;  ///< the first `levels` are not null
  std::int64_t first;                              ///< position of its first token in the sequence
  std::int32_t tokens;  ///< how many of its tokens the sequence still has, from the first on
  std::int32_t levels;  ///< how many of its planes the sequence still uses
};

/// A run of raw tokens. Row i of KV head h begins at element (h·head_rows + i)·dim of keys or
/// values, in the cache's dtype.
struct RawRun {
  std::int64_t first;  ///< position of row 0 or, with `place`, of the first token of its block
  std::int32_t count;
  std::int32_t head_rows;
  /// The position of row i is first + place[i], in ascending order. If null, it is first + i.
  const std::uint8_t* place;
  const std::byte* keys;
  const std::byte* values;
};

/// Each of the positions 0 … tokens − 1 is in exactly one place: in a block that does not mark it
/// raw, or in a raw run. Both lists are in ascending order of `first`.
struct SequenceView {
  std::int64_t tokens = 0;
  std::span<const CodedBlock> blocks;
  std::span<const RawRun> raw;
};

/// Returns a view of a sequence. Throws `usage` if the sequence does not exist.
SequenceView view_of(const Cache& cache, Sequence sequence);
const Layout& layout_of(const Cache& cache);

}  // namespace tamis::cache
