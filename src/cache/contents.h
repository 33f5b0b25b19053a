// The contents of one sequence: its coded blocks and, after them, its raw pages, with the lists of
// both that attention reads.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "attention/check.h"
#include "cache/store.h"

namespace tamis::cache {

using attention::most_tokens;  ///< the length limit of a sequence

/// Coded blocks come first. Each has 128 tokens, or fewer where the sequence was truncated. Raw
/// pages follow, all of them full except the last. The raw page of the last block is kept, although
/// no view shows it, so that the block's tokens can become raw again without loss. A block that
/// became the last one by truncation has no such page.
class Contents {
 public:
  explicit Contents(Store& store) : store_(store) { count_lists(); }
  ~Contents();
  Contents(const Contents&) = delete;
  Contents& operator=(const Contents&) = delete;

  [[nodiscard]] std::int64_t tokens() const { return tokens_; }
  [[nodiscard]] SequenceView view() const { return {tokens_, coded_, runs_}; }

  /// Records that append number `call` names this sequence. Returns false if it was named by that
  /// append before.
  [[nodiscard]] bool name_in(std::uint64_t call) { return std::exchange(call_, call) != call; }

  /// Returns a sequence of the first `tokens` tokens, which shares their memory.
  [[nodiscard]] std::unique_ptr<Contents> fork(std::int64_t tokens) const;
  void truncate(std::int64_t tokens) noexcept;
  /// Drops planes `levels` and above of the blocks that lie wholly before position `tokens`.
  void shed(int levels, std::int64_t tokens) noexcept;

 private:
  friend class Extension;     // appends tokens (extension.h)
  friend class ContentsFile;  // saves and loads (file.h)

  [[nodiscard]] std::int64_t coded_tokens() const {
    return coded_.empty() ? 0 : coded_.back().first + coded_.back().tokens;
  }
  [[nodiscard]] std::int64_t raw_tokens() const { return tokens_ - coded_tokens(); }
  /// Reserves space in the lists for so many more blocks and raw pages.
  void make_room(std::size_t blocks, std::size_t pages);
  /// Adds a block to coded_ and its raw tokens to runs_; it must be the first of blocks_ that
  /// coded_ does not list yet. This and list_raw_pages() need space reserved by make_room().
  void list_block(const Block& block, std::int64_t tokens, int levels) noexcept;
  void list_raw_pages() noexcept;

  void drop_raw_pages(std::size_t from) noexcept;
  void drop_kept() noexcept;
  void drop_last_block() noexcept;
  void shorten_last_block(std::int64_t tokens) noexcept;
  void count_lists() noexcept;

  Store& store_;
  std::int64_t tokens_ = 0;
  std::vector<CodedBlock> coded_;
  std::vector<Block*> blocks_;   ///< the blocks of coded_, in the same order
  RawPage* kept_ = nullptr;      ///< raw page of the last block, or null
  std::vector<RawPage*> pages_;  ///< raw pages of the tokens after the last block
  std::vector<RawRun> runs_;     ///< raw tokens of blocks, then those of pages_
  std::size_t block_runs_ = 0;   ///< how many of runs_ belong to blocks
  std::ptrdiff_t counted_ = 0;   ///< bytes of the lists as reported to the store
  std::uint64_t call_ = 0;       ///< number of the last append that named this sequence
};

}  // namespace tamis::cache
