// A KV cache for one layer. It stores the keys and values of many sequences once, in planes of 4
// bits: attention reads the first plane of every key and deeper planes only where they matter.
// docs/cache.md describes the layout, docs/certificates.md what attention over it proves.
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

/// The caller's identifier of a sequence, the same in the caches of all layers.
using Sequence = std::uint64_t;

/// The allocator of a cache. It must be thread-safe.
class TAMIS_API Memory {
 public:
  virtual ~Memory() = default;
  /// Returns at least `bytes` bytes aligned to 4,096 bytes, or null if there is no memory left. The
  /// memory need not be zeroed.
  virtual void* allocate(std::size_t bytes) noexcept = 0;
  /// Frees memory that allocate(bytes) returned.
  virtual void release(void* memory, std::size_t bytes) noexcept = 0;
};

struct CacheOptions {
  /// Bits per number of a coded key or value: 16, 12 or 8. 12 bits prove a mass budget of 2 % or
  /// more nearly always; smaller budgets need 16 bits.
  int bits = 12;
  /// The type of raw tokens, which are kept as they were appended: f32, f16 or bf16. Appended
  /// numbers must fit it without rounding.
  DType dtype = DType::bf16;
  /// How many of the first tokens of a sequence are kept raw and always read exactly, 0 … 128.
  /// Models put much attention weight on these tokens (attention sinks), and their large norms
  /// would make the codes of their block coarser.
  std::int64_t sinks = 4;
  /// A sequence with fewer tokens than this is kept raw as a whole. ≥ 0.
  std::int64_t raw_below = 1024;
  /// The most bytes that the cache may take from `memory`; 0 means no limit.
  std::size_t capacity = 0;
  /// The allocator, which must outlive the cache. Null means the operating system's memory.
  Memory* memory = nullptr;
};

/// Rows of keys or values in the caller's memory. Strides are in elements. In the s-th sequence of
/// a call, channel c of KV head h of token t is element s·sequence_stride + t·token_stride +
/// h·head_stride + c·channel_stride. A sequence_stride of 0 means that the rows of the sequences
/// follow each other; then t also counts the tokens of the sequences before s.
struct Rows {
  const void* data = nullptr;
  DType dtype = DType::f32;  ///< f32, f16 or bf16
  std::int64_t token_stride = 0;
  std::int64_t head_stride = 0;
  std::int64_t channel_stride = 1;
  std::int64_t sequence_stride = 0;
};

/// The cache of one layer. It holds any number of sequences of any lengths and shares nothing with
/// the caches of other layers.
///
/// While a call changes a sequence, no other call on that sequence may run. Calls on different
/// sequences may run at once, and so may several `fork` calls from one sequence. A call that throws
/// leaves the cache as it was. The same calls in the same order give the same bits.
class TAMIS_API Cache {
 public:
  /// An empty cache, which has taken no memory from `memory` yet. Throws `usage` if a size of
  /// `heads` or an option is outside the range that stands beside it.
  Cache(const Heads& heads, const CacheOptions& options);
  ~Cache();
  Cache(Cache&&) noexcept;
  Cache& operator=(Cache&&) noexcept;

  [[nodiscard]] const Heads& heads() const;
  [[nodiscard]] const CacheOptions& options() const;

  /// Adds an empty sequence. Throws `usage` if `sequence` exists.
  void add(Sequence sequence);
  /// Creates `to`, which must not exist, from the first `tokens` tokens of `from`, in the
  /// state in which `truncate` would leave them. Both sequences share the memory of these
  /// tokens. Costs O(tokens/128).
  void fork(Sequence from, std::int64_t tokens, Sequence to);
  void remove(Sequence sequence);
  [[nodiscard]] bool contains(Sequence sequence) const;

  /// Appends tokens[s] tokens to sequences[s]; the sequences must exist and be distinct. Throws
  /// `input` if a number is not finite, naming its sequence, token, head and channel. Throws
  /// `usage` if the cache's dtype cannot hold the rows' dtype without rounding, and `internal` if
  /// memory or the capacity is exhausted.
  ///
  /// A token is kept raw first and coded later, in whole blocks of 128 tokens. A call that appends
  /// fewer than 128 tokens to a sequence codes at most one of its blocks. The amortised cost is
  /// O(d) per token and head.
  void append(std::span<const Sequence> sequences, std::span<const std::int64_t> tokens,
              const Rows& keys, const Rows& values, Workspace& workspace);
  /// Keeps the first `tokens` tokens, 0 … tokens(sequence), and removes the others. The tokens
  /// that remain keep their bits. If the cut lies in the last coded block, the tokens of that
  /// block become raw again, as they were appended. If it lies in an earlier block, that block
  /// stays coded with fewer visible tokens, and later tokens start a new block. Never fails for
  /// lack of memory.
  void truncate(Sequence sequence, std::int64_t tokens);
  /// Reduces the blocks of this sequence that lie wholly before position `tokens` to `bits` bits
  /// (12 or 8), by giving up their lowest planes. Other sequences that share the blocks keep these
  /// planes. Certificates stay valid. Never fails for lack of memory.
  void shed(Sequence sequence, int bits, std::int64_t tokens);

  [[nodiscard]] std::int64_t tokens(Sequence sequence) const;
  [[nodiscard]] std::size_t sequences() const;
  /// Bytes of all slabs taken from `memory`, plus the lists of blocks and pages and their reference
  /// counts. The table of sequence names is not counted.
  [[nodiscard]] std::size_t bytes() const;
  /// The part of bytes() that lies in slabs, but in no page that is in use. A slab without a used
  /// page is released at once, except that one such slab is kept for each page size of which other
  /// pages are in use.
  [[nodiscard]] std::size_t free_bytes() const;

  /// Writes a sequence to a file: its planes and raw tokens, with a format version and checksums.
  /// The file is written under a temporary name and then renamed.
  void save(Sequence sequence, const std::string& path) const;
  /// Creates `sequence`, which must not exist, from a saved file; it continues as the saved
  /// sequence would. Throws `input`, naming the file, if the file is not a saved sequence, is
  /// damaged, or was saved from a cache with other heads or other options (capacity and memory may
  /// differ). Loading takes no more memory than a small multiple of the file's size, whatever the
  /// file contains.
  void load(Sequence sequence, const std::string& path);

  struct Impl;
  /// The implementation. Throws `usage` if the cache was moved from.
  [[nodiscard]] Impl& inside() const;

 private:
  std::unique_ptr<Impl> impl_;
};

}  // namespace tamis
