// Memory that the sequences of a cache share: raw pages and coded blocks, each with a count of its
// users. All functions may be called at once for different sequences.
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

/// A page of 128 rows of raw tokens. A sequence that is its only user may write new rows to it.
struct RawPage {
  Page page;
  std::atomic<std::int32_t> users{1};

  /// Whether other sequences use the page too. If not, none can begin to during a call on the only
  /// user, since that would take another call on the same sequence.
  [[nodiscard]] bool shared() const { return users.load(std::memory_order_acquire) > 1; }
};

/// A coded block. A sequence that uses page p also uses all pages before it, so that page 0 has all
/// users of the block.
struct Block {
  std::array<Page, most_levels> page;
  std::array<std::atomic<std::int32_t>, most_levels> users;
  Page raw;  ///< the block's raw tokens in ascending order; empty if there are none
  std::int32_t raw_tokens = 0;
  std::int32_t raw_rows = 0;  ///< rows that `raw` has room for
};

class Store {
 public:
  Store(const Heads& heads, const CacheOptions& options);

  [[nodiscard]] const Layout& layout() const { return layout_; }
  [[nodiscard]] const RawLayout& raw() const { return raw_; }
  [[nodiscard]] int levels() const { return levels_; }

  /// Returns a raw page with one user. Throws `internal` or bad_alloc if there is no memory.
  RawPage* make_raw_page();
  /// Returns a block with one user, with pages for the first `levels` planes and room for
  /// `raw_tokens` raw tokens. Throws `internal` or bad_alloc if there is no memory.
  Block* make_block(int levels, std::int64_t raw_tokens);

  /// Writes the positions of the block's raw tokens into its raw page.
  void place_raw(Block& block, const TokenMask& raw) const noexcept;

  static void share(RawPage* page) noexcept { page->users.fetch_add(1, std::memory_order_relaxed); }
  void drop(RawPage* page) noexcept;
  static void share(Block* block, int levels) noexcept;
  /// Drops one use of planes from … levels − 1. With from = 0 this drops one use of the block.
  void drop(Block* block, int from, int levels) noexcept;

  /// Adds to the count of bytes used beside the pages, for lists and for Block and RawPage objects.
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
