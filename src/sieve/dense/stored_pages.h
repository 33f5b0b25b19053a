// Presents everything that a sequence stores of one KV head as pages of 128 tokens in the order of
// their positions. Blocks are decoded from all of their planes, and raw tokens are put in their
// places among them.
#pragma once

#include <array>
#include <cstdint>

#include "attention/pages.h"
#include "cache/view.h"
#include "kernels/kernels.h"

namespace tamis::sieve {

/// Returns how many raw tokens of a run are before position `seen`. They are the first ones of the
/// run, since positions ascend.
std::int64_t seen_of(const cache::RawRun& run, std::int64_t seen);
/// Returns an upper bound on the norms of `count` contiguous rows of `dim` numbers.
double largest_norm(const kernels::Kernels& kernels, kernels::KvType type, const void* rows,
                    std::int64_t count, std::int64_t dim);

/// One KV head of a sequence, up to the last position that some row sees.
struct Stored {
  const kernels::Kernels& kernels;
  const cache::Layout& layout;
  const cache::SequenceView& sequence;
  std::int64_t head;
  DType raw_dtype;  ///< of raw tokens
  std::int64_t seen;

  /// Whether there is a block to decode. If so, pages hold floats; if not, they hold the raw tokens
  /// in their own type.
  [[nodiscard]] bool coded() const {
    return !sequence.blocks.empty() && sequence.blocks.front().first < seen;
  }
  [[nodiscard]] DType dtype() const { return coded() ? DType::f32 : raw_dtype; }
  [[nodiscard]] cache::HeadBlock block(std::int64_t b) const {
    const cache::CodedBlock& coded_block = sequence.blocks[static_cast<std::size_t>(b)];
    return cache::head_block(layout, coded_block.page.data(), coded_block.levels, head);
  }
};

/// Consecutive tokens of a page that belong to one block or are all raw.
struct Part {
  std::int64_t first;  ///< index of the first one in the page
  std::int64_t count;
  std::int64_t block;  ///< number of the block; −1 for raw tokens
};

struct StoredPage {
  attention::Page page;
  int parts = 0;
  std::array<Part, page_tokens> part;
};

/// Produces the pages one after the other.
class StoredPages {
 public:
  /// `room` holds the keys and values of the current page and must have room_floats() floats.
  StoredPages(const Stored& stored, float* room) : stored_(stored), room_(room) {}
  static std::int64_t room_floats(const cache::Layout& layout) {
    return page_tokens * (layout.key_dim + layout.value_dim);
  }
  /// Returns tokens first … first + 127, as far as they are before `seen`. `first` must grow from
  /// call to call. The page is valid until the next call.
  StoredPage next(std::int64_t first);

 private:
  /// Returns a raw run that holds all of tokens first … end − 1 contiguously, so that no copy is
  /// needed; null if there is none or if pages hold floats.
  [[nodiscard]] const cache::RawRun* whole_run(std::int64_t first, std::int64_t end) const;

  const Stored& stored_;
  float* room_;
  std::size_t block_ = 0;  // the first block that may reach into the next page
  std::size_t run_ = 0;    // the same for runs
};

}  // namespace tamis::sieve
