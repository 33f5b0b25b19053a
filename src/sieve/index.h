// The inside of an Index: records of whole blocks, in memory that never moves.
#pragma once

#include <vector>

#include <tamis/index.h>

#include "core/slab.h"
#include "sieve/layout.h"

namespace tamis {

struct Index::Impl {
  explicit Impl(const IndexShape& index_shape);

  IndexShape shape;
  Layout layout;
  std::int64_t blocks = 0;  ///< indexed, per head
  std::int64_t room = 0;    ///< blocks there is memory for, per head
  std::vector<Slab> slabs;
  std::vector<std::vector<std::byte*>> coarse;  ///< per head: records by block
  std::vector<std::vector<std::byte*>> middle;
  std::vector<std::vector<std::int64_t>> pinned;  ///< per head: tokens that are always read exactly

  void reserve(std::int64_t wanted);
  /// Sets the number of indexed blocks, records of which must be there, and lists their pinned tokens.
  void set_blocks(std::int64_t count);

  [[nodiscard]] CoarseBlock<const std::byte> coarse_block(std::int64_t head, std::int64_t block) const {
    return {layout, coarse[static_cast<std::size_t>(head)][static_cast<std::size_t>(block)]};
  }
  [[nodiscard]] MiddleBlock<const std::byte> middle_block(std::int64_t head, std::int64_t block) const {
    return {layout, middle[static_cast<std::size_t>(head)][static_cast<std::size_t>(block)]};
  }
};

/// Throws `usage` unless `kv` has an entry for every KV head, all of `tokens` tokens or more and with
/// pages and strides that fit the shape.
void check_pages(const IndexShape& shape, std::span<const KvPages> kv, std::int64_t tokens);

}  // namespace tamis
