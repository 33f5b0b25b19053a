// Keys and values in pages of 128 tokens, the form in which dense attention and profiles read them.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include <tamis/dtype.h>
#include <tamis/export.h>
#include <tamis/page.h>

namespace tamis {

/// The keys and values of one KV head. The key of token t is row t % 128 of page t / 128. The
/// caller owns the memory and must not change it while a call reads it.
struct KvPages {
  const void* const* k = nullptr;  ///< ⌈tokens / 128⌉ addresses
  const void* const* v = nullptr;  ///< the same number of addresses
  std::int64_t tokens = 0;
  std::int64_t k_stride = 0;  ///< elements from one token's key to the next, within a page
  std::int64_t v_stride = 0;  ///< the same for values
  /// The type of keys and values, if known. A call with another dtype then throws `usage`.
  std::optional<DType> dtype{};
};

/// Page tables over contiguous arrays: k is [kv_heads, tokens, head_dim] and v is
/// [kv_heads, tokens, value_dim]. Owns the tables, not the arrays. Allocates two pointers per page.
class TAMIS_API PageTables {
 public:
  PageTables(DType dtype, const void* k, const void* v, std::int64_t kv_heads, std::int64_t tokens,
             std::int64_t head_dim, std::int64_t value_dim);
  PageTables(const PageTables&) = delete;
  PageTables& operator=(const PageTables&) = delete;
  PageTables(PageTables&&) = default;
  PageTables& operator=(PageTables&&) = default;

  /// One entry per KV head, valid as long as this object.
  [[nodiscard]] std::span<const KvPages> heads() const { return heads_; }

 private:
  std::vector<const void*> pages_;
  std::vector<KvPages> heads_;
};

}  // namespace tamis
