// Appends tokens to one sequence: rows are copied into raw pages, and full pages are encoded. A
// page that the same call would fill, encode and release is encoded directly from the caller's
// rows. New pages and blocks stay invisible, behind the ends of the sequence's lists, until the
// whole call is certain to succeed.
#pragma once

#include <cstdint>

#include "attention/workspace.h"
#include "cache/contents.h"
#include "cache/raw.h"

namespace tamis::cache {

/// The keys and values of a call, with the type in which the cache keeps them.
struct Incoming {
  IncomingRows keys;
  IncomingRows values;
};

/// The part of an append that concerns one sequence.
class Extension {
 public:
  /// The sequence's first row in the caller's memory, in elements from the start.
  struct Offsets {
    std::int64_t keys, values;
  };
  Extension(Contents& contents, const CacheOptions& options, std::int64_t tokens,
            const Offsets& offsets);

  /// The work on one raw page: rows from … to − 1 are filled, then the page is encoded if `coded`.
  struct Step {
    Extension* extension;
    std::int64_t page;  ///< index among the sequence's raw pages
    std::int64_t from, to;
    bool coded;
    RawPage* raw;    ///< set by begin(); null if the page is encoded from the caller's rows
    Block* block;    ///< set by make_block()
    TokenMask mask;  ///< set by mark_raw(): tokens of the block that stay raw
  };
  /// The number of steps. Raw pages that are neither filled nor encoded have no step.
  [[nodiscard]] std::int64_t steps() const {
    return tokens_ == 0 ? 0 : coded_pages_ + pages_after_ - fill_first_;
  }
  [[nodiscard]] Step step(std::int64_t number);

  /// Reserves space in the sequence's lists for all steps.
  void make_room();
  /// Finds or allocates the page of a step; a shared page that will be written is copied. Steps
  /// must begin in order.
  void begin(Step& step, const Incoming& rows);
  /// How many bytes fill() copies for all KV heads together.
  [[nodiscard]] std::int64_t bytes(const Step& step) const;
  /// Copies the rows of one KV head into the page, if the step has one. Returns whether all copied
  /// numbers are finite.
  [[nodiscard]] bool fill(const Step& step, const kernels::Kernels& kernels, const Incoming& rows,
                          std::int64_t head) const;
  /// The next three functions are for steps with `coded`. This one determines which tokens stay
  /// raw. Returns false if a number is not finite.
  [[nodiscard]] bool mark_raw(Step& step, const Incoming& rows) const;
  /// Allocates the block. Must be called for the steps in order.
  void make_block(Step& step);
  /// Writes the codes and the raw tokens of one KV head.
  void encode(const Step& step, const kernels::Kernels& kernels, const Incoming& rows,
              std::int64_t head, float* scratch) const;
  /// Releases a page that was only needed for encoding.
  void finish(Step& step) noexcept;

  /// Makes the new tokens part of the sequence.
  void commit() noexcept;
  /// Removes everything that the steps have made.
  void roll_back() noexcept;

  /// Throws `input` for the first number in the sequence's new rows that is not finite. Returns if
  /// all are finite.
  void check_finite(const Incoming& rows, Sequence sequence) const;

 private:
  /// The rows of a page that is to be encoded, in the page or in the caller's memory.
  [[nodiscard]] BlockRows rows_of(const Step& step, const Incoming& rows, std::int64_t head) const;

  Contents* contents_;
  std::int64_t sinks_;
  std::int64_t tokens_;
  Offsets offsets_;
  std::int64_t raw_before_;     ///< raw tokens after the last block before the call
  std::int64_t pages_before_;   ///< raw pages before the call
  std::int64_t pages_after_;    ///< raw pages after the call, including those that are encoded
  std::int64_t fill_first_;     ///< the first page that is filled and not encoded
  std::int64_t coded_pages_;    ///< how many raw pages are encoded; they are the first ones
  std::int64_t blocks_before_;  ///< blocks before the call
  RawPage* copy_ = nullptr;     ///< copy of the last page before the call, if that one is shared
};

}  // namespace tamis::cache
