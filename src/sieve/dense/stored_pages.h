// All that a sequence stores of one KV head, as pages of 128 tokens in the order of their
// positions: blocks decoded from all of their planes, raw tokens in their places.
#pragma once

#include <array>
#include <cstdint>

#include "attention/pages.h"
#include "cache/view.h"
#include "kernels/kernels.h"

namespace tamis::sieve {

/// Raw tokens of a run before position `seen`. They come first, since positions ascend.
std::int64_t seen_of(const cache::RawRun& run, std::int64_t seen);
/// The largest ‖x‖ of `count` rows of `dim` numbers in a row, at least.
double largest_norm(const kernels::Kernels& kernels, kernels::KvType type, const void* rows,
                    std::int64_t count, std::int64_t dim);

/// One KV head of a sequence, up to the position that its rows see at most.
struct Stored {
  const kernels::Kernels& kernels;
  const cache::Layout& layout;
  const cache::SequenceView& sequence;
  std::int64_t head;
  DType raw_dtype;  ///< of raw tokens
  std::int64_t seen;

  /// Whether there is anything to decode; pages are then floats, and otherwise as they were
  /// appended.
  [[nodiscard]] bool coded() const {
    return !sequence.blocks.empty() && sequence.blocks.front().first < seen;
  }
  [[nodiscard]] DType dtype() const { return coded() ? DType::f32 : raw_dtype; }
  [[nodiscard]] cache::HeadBlock block(std::int64_t b) const {
    const cache::CodedBlock& coded_block = sequence.blocks[static_cast<std::size_t>(b)];
    return cache::head_block(layout, coded_block.page.data(), coded_block.levels, head);
  }
};

/// Tokens of a page that are neighbours, of one block or raw.
struct Part {
  std::int64_t first;  ///< in the page
  std::int64_t count;
  std::int64_t block;  ///< −1: raw
};

struct StoredPage {
  attention::Page page;
  int parts = 0;
  std::array<Part, page_tokens> part;
};

/// Brings the pages one after the other.
class StoredPages {
 public:
  /// Keeps keys and values of the page at hand in `room`, room_floats() of them.
  StoredPages(const Stored& stored, float* room) : stored_(stored), room_(room) {}
  static std::int64_t room_floats(const cache::Layout& layout) {
    return page_tokens * (layout.key_dim + layout.value_dim);
  }
  /// The tokens first … first + 127 of those before `seen`; `first` grows from call to call. The
  /// page is good until the next call.
  StoredPage next(std::int64_t first);

 private:
  /// A page of raw tokens that lie as a page does, or null.
  [[nodiscard]] const cache::RawRun* whole_run(std::int64_t first, std::int64_t end) const;

  const Stored& stored_;
  float* room_;
  std::size_t block_ = 0;  // the first that may reach into the next page
  std::size_t run_ = 0;
};

}  // namespace tamis::sieve
