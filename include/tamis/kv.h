// Keys and values in pages of 128 tokens: how every engine of tamis reads them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include <tamis/dtype.h>
#include <tamis/export.h>
#include <tamis/view.h>

namespace tamis {

/// Tokens in a page.
inline constexpr std::int64_t page_tokens = 128;

/// The keys and values of one KV head: token t's key is row t % 128 of page t / 128.
/// The memory is the caller's and must not change while a call reads it.
struct KvPages {
  const void* const* k = nullptr;  ///< ⌈tokens / 128⌉ addresses
  const void* const* v = nullptr;  ///< the same number of addresses
  std::int64_t tokens = 0;
  std::int64_t k_stride = 0;  ///< elements from one token's key to the next within a page
  std::int64_t v_stride = 0;  ///< the same for values
  /// Of keys and values, where it is known; a call in another dtype then throws `usage`.
  std::optional<DType> dtype{};
  /// A number for each page: pages with the same number hold the same tokens, as far as both go. By it an
  /// Index knows whether it was made of these tokens. Null where nobody counts: that other tokens have
  /// taken the place of indexed ones is then for the caller to tell, by Index::truncate.
  const std::uint64_t* stamps = nullptr;
};

/// Page tables over arrays that are contiguous: k is [kv_heads, tokens, head_dim] and v is
/// [kv_heads, tokens, value_dim]. Owns the tables, not the arrays, and cannot tell when those change: the
/// pages have no stamps. Allocates two pointers per page.
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

/// Owns keys and values for those who have no paged cache. Pages never move; the tables of their
/// addresses may. Not safe to append while another thread reads.
///
/// Its pages are stamped. A page keeps its number while tokens are only added to it, also in copies of the
/// store once it is full; what cuts into it gives it another. An index of the store therefore stays good
/// through appends, moves, copies, and truncations that cut off tokens which are not indexed; after others
/// it is refused until it is truncated to the tokens that are still the same.
class TAMIS_API KvStore {
 public:
  /// dtype is f16, bf16 or f32.
  KvStore(DType dtype, std::int64_t kv_heads, std::int64_t head_dim, std::int64_t value_dim);
  ~KvStore();
  KvStore(KvStore&&) noexcept;
  KvStore& operator=(KvStore&&) noexcept;
  KvStore(const KvStore&);
  KvStore& operator=(const KvStore&);

  /// Appends k.rows / kv_heads tokens; rows are head-major: row h·new_tokens + t is token t of head h.
  /// Rounds to the store's dtype. Throws `input`, leaving the store as it was, if a value is NaN,
  /// infinite or too large for the dtype. O(d) per token and head; memory grows by whole pages.
  void append(View<const float> k, View<const float> v);
  /// The same from arrays already in the store's dtype: [kv_heads, new_tokens, dim], contiguous.
  void append(const void* k, const void* v, std::int64_t new_tokens);
  /// Forgets all tokens from `tokens` on.
  void truncate(std::int64_t tokens);

  [[nodiscard]] DType dtype() const;
  [[nodiscard]] std::int64_t tokens() const;
  [[nodiscard]] std::int64_t kv_heads() const;
  [[nodiscard]] std::int64_t head_dim() const;
  [[nodiscard]] std::int64_t value_dim() const;
  /// One entry per KV head, valid until the next append, truncate or assignment.
  [[nodiscard]] std::span<const KvPages> heads() const;
  /// Bytes of memory held.
  [[nodiscard]] std::size_t bytes() const;

 private:
  struct Impl;
  /// Throws `usage` if it was moved from.
  [[nodiscard]] Impl& inside() const;
  std::unique_ptr<Impl> impl_;
};

}  // namespace tamis
