// Cuts the work on a layer into calls that are short enough to show progress and to be
// interrupted between them.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

#include <tamis/attention.h>

namespace tamis::cli {

/// How many tokens to append in one call.
inline constexpr std::int64_t tokens_per_call = 8192;

/// A contiguous range of a layer's rows, as the input of one call.
struct Block {
  Shape shape;
  std::int64_t row = 0;    ///< first row
  std::int64_t query = 0;  ///< first query
  std::int64_t kv_head = 0;

  [[nodiscard]] std::span<const KvPages> kv(std::span<const KvPages> heads) const {
    return heads.subspan(static_cast<std::size_t>(kv_head),
                         static_cast<std::size_t>(shape.kv_heads));
  }
  [[nodiscard]] std::span<const std::int64_t> seen(std::span<const std::int64_t> all) const {
    return all.subspan(static_cast<std::size_t>(query), static_cast<std::size_t>(shape.queries));
  }
};

/// Returns the whole layer as one block if it has at most `max_rows` rows, so that heads which
/// share keys read them once. Otherwise each block is a range of queries of one head. The blocks
/// depend on the shape alone, so results do not vary with the number of threads.
inline std::vector<Block> blocks_of(const Shape& shape, std::int64_t max_rows) {
  if (shape.rows() <= max_rows) return {{shape, 0, 0, 0}};
  std::vector<Block> blocks;
  for (std::int64_t head = 0; head < shape.query_heads; ++head) {
    for (std::int64_t query = 0; query < shape.queries; query += max_rows) {
      Block block{shape, head * shape.queries + query, query, head / shape.group()};
      block.shape.query_heads = block.shape.kv_heads = 1;
      block.shape.queries = std::min(max_rows, shape.queries - query);
      blocks.push_back(block);
    }
  }
  return blocks;
}

}  // namespace tamis::cli
