// The inside of an Index: records of whole blocks, in memory that never moves.
#pragma once

#include <vector>

#include <tamis/index.h>

#include "core/slab.h"
#include "sieve/layout.h"

namespace tamis {

/// Upper bounds of norms over the first blocks of a head.
struct Largest {
  float key = 0;
  float value = 0;
  float radius = 0;  ///< of values about their block's centroid
};

struct Index::Impl {
  explicit Impl(const IndexShape& index_shape);

  IndexShape shape;
  Layout layout;
  std::int64_t blocks = 0;  ///< indexed, per head
  std::int64_t room = 0;    ///< blocks there is memory for, per head
  std::vector<Slab> slabs;
  std::vector<std::vector<std::byte*>> coarse;  ///< per head: records by block
  std::vector<std::vector<std::byte*>> middle;
  std::vector<std::vector<std::int64_t>> pinned;   ///< per head: tokens that are always read exactly
  std::vector<std::vector<Largest>> largest;       ///< per head: over the blocks up to each
  std::vector<std::vector<std::uint64_t>> stamps;  ///< per head: of the page of each block, 0 if unknown

  void reserve(std::int64_t wanted);
  /// Sets the number of indexed blocks, records of which must be there; lists their pinned tokens and
  /// largest norms.
  void set_blocks(std::int64_t count);
  /// Remembers whose tokens the blocks from `first` on were made of.
  void remember(std::span<const KvPages> kv, std::int64_t first);

  [[nodiscard]] Largest largest_of(std::int64_t head, std::int64_t first_blocks) const {
    return first_blocks == 0
               ? Largest{}
               : largest[static_cast<std::size_t>(head)][static_cast<std::size_t>(first_blocks - 1)];
  }

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

/// Throws `usage` if `kv`, which check_pages has accepted, is known to hold other tokens than those
/// indexed.
void check_same_tokens(const Index::Impl& index, std::span<const KvPages> kv);

}  // namespace tamis
