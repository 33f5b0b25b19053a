// A KV cache: the keys and values of many sequences for one layer, stored once, in planes of 4 bits
// that are storage and index at the same time. docs/cache.md says how; docs/certificates.md what it
// proves.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include <tamis/dtype.h>
#include <tamis/export.h>
#include <tamis/heads.h>
#include <tamis/workspace.h>

namespace tamis {

/// The caller's name for a sequence; the same in the caches of all layers.
using Sequence = std::uint64_t;

/// Where a cache takes its memory from. Calls may come from several threads at once.
class TAMIS_API Memory {
 public:
  virtual ~Memory() = default;
  /// At least `bytes`, aligned to 4,096, zeroed or not; null if there is none left.
  virtual void* allocate(std::size_t bytes) noexcept = 0;
  /// What allocate(bytes) gave.
  virtual void release(void* memory, std::size_t bytes) noexcept = 0;
};

struct CacheOptions {
  /// Bits per number of a coded key or value: 16, 12 or 8. 12 proves mass budgets of 2 % and more
  /// nearly always; 16 is for smaller ones.
  int bits = 12;
  /// In which raw tokens are kept: f32, f16 or bf16. What is appended must fit it without rounding.
  DType dtype = DType::bf16;
  /// The first tokens of a sequence, kept raw and always read exactly: models park weight on them,
  /// and their norms would coarsen the codes of their block. 0 … 128.
  std::int64_t sinks = 4;
  /// A sequence is kept raw as a whole until it has so many tokens. ≥ 0.
  std::int64_t raw_below = 1024;
  /// Most bytes that the cache may take from `memory`; 0 for no limit.
  std::size_t capacity = 0;
  /// Null for the system's. Must outlive the cache.
  Memory* memory = nullptr;
};

/// Rows of keys or values in the caller's memory, strides in elements. Row t of the s-th sequence
/// of a call, KV head h, channel c is element s·sequence_stride + t·token_stride + h·head_stride +
/// c·channel_stride; a sequence_stride of 0 says that the rows of all sequences follow each other,
/// so that row t of sequence s is row (tokens of the sequences before s) + t.
struct Rows {
  const void* data = nullptr;
  DType dtype = DType::f32;  ///< f32, f16 or bf16
  std::int64_t token_stride = 0;
  std::int64_t head_stride = 0;
  std::int64_t channel_stride = 1;
  std::int64_t sequence_stride = 0;
};

/// One layer. Any number of sequences of any lengths; nothing is shared between layers.
///
/// Calls that change a sequence exclude all other calls on that sequence; calls on different
/// sequences may run at once, also `fork` from one sequence into several others. Every call either
/// does what it says or throws and leaves the cache as it was. Same calls in the same order, same
/// bits.
class TAMIS_API Cache {
 public:
  Cache(const Heads& heads, const CacheOptions& options);
  ~Cache();
  Cache(Cache&&) noexcept;
  Cache& operator=(Cache&&) noexcept;

  [[nodiscard]] const Heads& heads() const;
  [[nodiscard]] const CacheOptions& options() const;

  /// An empty sequence. Throws `usage` if there is one of this name.
  void add(Sequence sequence);
  /// `to`, which must not exist, begins as the first `tokens` tokens of `from`, as `truncate` would
  /// leave them, and shares their memory. O(tokens/128).
  void fork(Sequence from, std::int64_t tokens, Sequence to);
  void remove(Sequence sequence);
  [[nodiscard]] bool contains(Sequence sequence) const;

  /// Appends tokens[s] tokens to sequences[s], which must exist and differ. Throws `input`, naming
  /// sequence, token, head and channel, for a number that is not finite; `usage` if the rows' dtype
  /// does not fit the cache's without rounding; `internal` if memory or the capacity is exhausted.
  ///
  /// A token is first kept raw; whole blocks of 128 tokens are coded later, at most one for a call
  /// that appends fewer than 128 tokens to the sequence. O(d) per token and head, amortised.
  void append(std::span<const Sequence> sequences, std::span<const std::int64_t> tokens,
              const Rows& keys, const Rows& values, Workspace& workspace);
  /// Forgets all tokens from `tokens` on, 0 … tokens(sequence). What is left keeps its bits: tokens
  /// of the last coded block become raw again, as they were appended; of an earlier block the
  /// sequence sees fewer tokens, and those appended after the cut start a new one. Never fails for
  /// want of memory.
  void truncate(Sequence sequence, std::int64_t tokens);
  /// Drops this sequence's use of the planes below `bits` (12 or 8) of the blocks that lie wholly
  /// before `tokens`; other sequences that share them keep theirs. Certificates stay true. Never
  /// fails for want of memory.
  void shed(Sequence sequence, int bits, std::int64_t tokens);

  [[nodiscard]] std::int64_t tokens(Sequence sequence) const;
  [[nodiscard]] std::size_t sequences() const;
  /// Bytes of all slabs taken from memory, with what is kept beside them: lists of blocks and
  /// pages, counts of users. Not the table of names.
  [[nodiscard]] std::size_t bytes() const;
  /// The part of bytes() that lies in slabs, but in no page in use. A slab without a used page is
  /// given back at once, but for one of each size of page that is in use elsewhere.
  [[nodiscard]] std::size_t free_bytes() const;

  /// Writes a sequence: planes, raw tokens, a version and checksums. Under a temporary name first,
  /// then renamed.
  void save(Sequence sequence, const std::string& path) const;
  /// `sequence` must not exist; it will be what was saved, and go on alike. Throws `input`, naming
  /// the file, if it is not one, is damaged, or was saved from heads or options (but for capacity
  /// and memory) that are not this cache's. However it was made, it takes no more memory than a
  /// small multiple of its size.
  void load(Sequence sequence, const std::string& path);

  struct Impl;
  /// Throws `usage` if it was moved from.
  [[nodiscard]] Impl& inside() const;

 private:
  std::unique_ptr<Impl> impl_;
};

}  // namespace tamis
