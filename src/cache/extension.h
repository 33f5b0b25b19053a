// How a sequence becomes longer: rows go into raw pages, whole pages are coded. Pages that a call
// would fill and code and then give back are coded from the caller's rows. What is made along the
// way lies behind the ends of the sequence's lists until all of the call is sure to succeed.
#pragma once

#include <cstdint>

#include "attention/workspace.h"
#include "cache/contents.h"
#include "cache/raw.h"

namespace tamis::cache {

/// The keys and values of a call, and how the cache keeps them.
struct Incoming {
  IncomingRows keys;
  IncomingRows values;
};

/// One sequence of a call.
class Extension {
 public:
  /// Where the sequence's first row begins, in elements.
  struct Offsets {
    std::int64_t keys, values;
  };
  Extension(Contents& contents, const CacheOptions& options, std::int64_t tokens,
         const Offsets& offsets);

  /// What happens to one raw page: rows from … to − 1 of it are filled, then it may be coded.
  struct Step {
    Extension* extension;
    std::int64_t page;  ///< of the sequence's raw pages
    std::int64_t from, to;
    bool coded;
    RawPage* raw;    ///< from begin() on; null if the page is coded from the caller's rows
    Block* block;    ///< from make_block() on
    TokenMask mask;  ///< from mark_raw() on: tokens of the block that stay raw
  };
  /// They are numbered; raw pages that are neither filled nor coded have none.
  [[nodiscard]] std::int64_t steps() const {
    return tokens_ == 0 ? 0 : coded_pages_ + pages_after_ - fill_first_;
  }
  [[nodiscard]] Step step(std::int64_t number);

  /// Makes the lists long enough for all steps.
  void make_room();
  /// Finds or takes the page; one that others use too is copied. Steps begin in order.
  void begin(Step& step, const Incoming& rows);
  /// How many bytes fill() copies for all KV heads.
  [[nodiscard]] std::int64_t bytes(const Step& step) const;
  /// Copies one KV head's rows into the page, if there is one. Returns whether all that it copied
  /// is finite.
  [[nodiscard]] bool fill(const Step& step, const kernels::Kernels& kernels, const Incoming& rows,
                          std::int64_t head) const;
  /// The following for steps that are coded: which tokens stay raw (returns whether all numbers are
  /// finite), the block in order, one KV head's codes.
  [[nodiscard]] bool mark_raw(Step& step, const Incoming& rows) const;
  void make_block(Step& step);
  void encode(const Step& step, const kernels::Kernels& kernels, const Incoming& rows,
              std::int64_t head, float* scratch) const;
  /// Gives back a page that was needed for coding only.
  void finish(Step& step) noexcept;

  /// One of these ends it.
  void commit() noexcept;
  void roll_back() noexcept;

  /// Throws `input` about the first number of the sequence's rows that is not finite, if there is
  /// one.
  void check_finite(const Incoming& rows, Sequence sequence) const;

 private:
  /// The rows of a page that is coded, wherever they are.
  [[nodiscard]] BlockRows rows_of(const Step& step, const Incoming& rows, std::int64_t head) const;

  Contents* contents_;
  std::int64_t sinks_;
  std::int64_t tokens_;
  Offsets offsets_;
  std::int64_t raw_before_;  ///< raw tokens before the call
  std::int64_t pages_before_;
  std::int64_t pages_after_;  ///< before coded ones leave
  std::int64_t fill_first_;   ///< the first page that is filled and not coded
  std::int64_t coded_pages_;
  std::int64_t blocks_before_;
  RawPage* copy_ = nullptr;  ///< of the last page, if others use it too
};

}  // namespace tamis::cache
