// What the sequences of a cache share: raw pages and coded blocks, each with a count of its users,
// and the memory they lie in. All of it may be called for different sequences at once.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

#include <tamis/cache.h>

#include "cache/block.h"
#include "cache/pages.h"
#include "cache/raw.h"
#include "cache/view.h"

namespace tamis::cache {

/// 128 rows of raw tokens. Whoever uses it alone may write rows that it does not have yet.
struct RawPage {
  Page page;
  std::atomic<std::int32_t> users{1};

  /// Nobody can begin to use it meanwhile, since that takes a call on the only sequence that does.
  [[nodiscard]] bool shared() const { return users.load(std::memory_order_acquire) > 1; }
};

/// A coded block. Who uses page p uses all pages before it: page 0 has all users.
struct Block {
  std::array<Page, most_levels> page;
  std::array<std::atomic<std::int32_t>, most_levels> users;
  Page raw;  ///< of its raw tokens, ascending; none if there are none
  std::int32_t raw_tokens = 0;
  std::int32_t raw_rows = 0;  ///< that the page is for
};

class Store {
 public:
  Store(const Heads& heads, const CacheOptions& options);

  [[nodiscard]] const Layout& layout() const { return layout_; }
  [[nodiscard]] const RawLayout& raw() const { return raw_; }
  [[nodiscard]] int levels() const { return levels_; }

  /// With one user. These throw `internal`, or bad_alloc, if there is no memory.
  RawPage* make_raw_page();
  /// With one user, pages of the first `levels` planes and room for `raw_tokens` raw tokens.
  Block* make_block(int levels, std::int64_t raw_tokens);

  /// Writes which tokens of a block its raw rows are.
  void place_raw(Block& block, const TokenMask& raw) const noexcept;

  static void share(RawPage* page) noexcept { page->users.fetch_add(1, std::memory_order_relaxed); }
  void drop(RawPage* page) noexcept;
  static void share(Block* block, int levels) noexcept;
  /// Drops a use of planes from … levels − 1; from 0, of the block.
  void drop(Block* block, int from, int levels) noexcept;

  /// What is kept beside the pages: lists and records of blocks.
  void count_books(std::ptrdiff_t bytes) noexcept { books_ += static_cast<std::size_t>(bytes); }
  [[nodiscard]] std::size_t bytes() const { return pages_.bytes() + books_; }
  [[nodiscard]] std::size_t free_bytes() const;

 private:
  Layout layout_;
  RawLayout raw_;
  int levels_;
  Pages pages_;
  std::atomic<std::size_t> books_{0};
};

}  // namespace tamis::cache
