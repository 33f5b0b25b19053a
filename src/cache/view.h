// What attention reads of a sequence: its blocks and its raw tokens, as they are until the sequence
// changes.
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
  std::array<const std::byte*, most_levels> page;  ///< of which `levels` are
  std::int64_t first;                              ///< position of its first token in the sequence
  std::int32_t tokens;  ///< that the sequence still has, from the first on
  std::int32_t levels;  ///< that it still uses
};

/// Raw tokens: row i of KV head h is element (h·head_rows + i)·dim of keys or values, in the
/// cache's dtype.
struct RawRun {
  std::int64_t first;  ///< position of row 0, or what `place` counts from
  std::int32_t count;
  std::int32_t head_rows;
  const std::uint8_t* place;  ///< position of row i is first + place[i], ascending; null: first + i
  const std::byte* keys;
  const std::byte* values;
};

/// Positions 0 … tokens − 1 are each in one place: coded in one block and not marked raw there, or
/// in one raw run. Both lists are ascending by `first`.
struct SequenceView {
  std::int64_t tokens = 0;
  std::span<const CodedBlock> blocks;
  std::span<const RawRun> raw;
};

/// Throws `usage` if there is no such sequence.
SequenceView view_of(const Cache& cache, Sequence sequence);
const Layout& layout_of(const Cache& cache);

}  // namespace tamis::cache
