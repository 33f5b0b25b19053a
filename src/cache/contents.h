// What one sequence holds: coded blocks, then raw pages; and the lists of both that attention
// reads.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "cache/store.h"

namespace tamis::cache {

/// The longest sequence: beyond what any machine holds, and far from where sums and products of
/// sizes overflow.
inline constexpr std::int64_t most_tokens = std::int64_t{1} << 40;

/// Coded blocks come first, with 128 tokens each or fewer where the sequence was cut; then raw
/// pages, all full but the last. The last block's raw page is kept, in no view, so that tokens of
/// it can be taken back without loss; a block that became the last by a cut has none.
class Contents {
 public:
  explicit Contents(Store& store) : store_(store) { count_lists(); }
  ~Contents();
  Contents(const Contents&) = delete;
  Contents& operator=(const Contents&) = delete;

  [[nodiscard]] std::int64_t tokens() const { return tokens_; }
  [[nodiscard]] SequenceView view() const { return {tokens_, coded_, runs_}; }

  /// Whether the append of this number names it for the first time.
  [[nodiscard]] bool name_in(std::uint64_t call) { return std::exchange(call_, call) != call; }

  /// A sequence of the first `tokens` tokens that shares their memory.
  [[nodiscard]] std::unique_ptr<Contents> fork(std::int64_t tokens) const;
  void truncate(std::int64_t tokens) noexcept;
  /// Drops the planes from `levels` on of the blocks that lie wholly before `tokens`.
  void shed(int levels, std::int64_t tokens) noexcept;

 private:
  friend class Extension;        // extension.h: how a sequence becomes longer
  friend class ContentsFile;  // file.h: how it is saved and loaded

  [[nodiscard]] std::int64_t coded_tokens() const {
    return coded_.empty() ? 0 : coded_.back().first + coded_.back().tokens;
  }
  [[nodiscard]] std::int64_t raw_tokens() const { return tokens_ - coded_tokens(); }
  /// Lists can take so many more without allocating. What they take is counted.
  void make_room(std::size_t blocks, std::size_t pages);
  /// These need room. `block` is the next of blocks_ that coded_ does not list yet.
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
  std::vector<Block*> blocks_;   ///< of coded_
  RawPage* kept_ = nullptr;      ///< of the last block
  std::vector<RawPage*> pages_;  ///< of what is not coded
  std::vector<RawRun> runs_;     ///< raw tokens of blocks, then pages
  std::size_t block_runs_ = 0;   ///< of runs_
  std::ptrdiff_t counted_ = 0;   ///< bytes of lists that the store knows of
  std::uint64_t call_ = 0;       ///< the last append that named it, to tell a sequence named twice
};

}  // namespace tamis::cache
