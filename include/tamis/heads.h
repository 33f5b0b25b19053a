// The sizes that the attention heads of a layer share, used by the cache and by attention.
#pragma once

#include <cstdint>

namespace tamis {

struct Heads {
  /// A multiple of kv_heads, at most 65,536. Head h reads KV head h·kv_heads/query_heads.
  std::int64_t query_heads = 1;
  std::int64_t kv_heads = 1;
  std::int64_t key_dim = 0;    ///< of queries and keys; 1 … 1024
  std::int64_t value_dim = 0;  ///< of values and outputs; 1 … 1024
  float scale = 1.0F;          ///< logits are scale · q·k

  [[nodiscard]] std::int64_t group() const { return query_heads / kv_heads; }
  bool operator==(const Heads&) const = default;
};

}  // namespace tamis
