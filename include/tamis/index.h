// The index: what is built from keys and values so that attention can bound the weight of keys that it
// does not read. Blocks of 128 tokens; per channel of a block a centre and a step, per key two planes of
// 4-bit codes and the norms of what they miss, per value a 4-bit code. The layout and the bounds are in
// docs/certificates.md.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include <tamis/dtype.h>
#include <tamis/export.h>
#include <tamis/kv.h>
#include <tamis/workspace.h>

namespace tamis {

struct IndexShape {
  DType dtype = DType::f32;  ///< of keys and values: f32, f16 or bf16
  std::int64_t kv_heads = 1;
  std::int64_t head_dim = 0;   ///< 1 … 1024
  std::int64_t value_dim = 0;  ///< 1 … 1024
  /// The first tokens, which attention always reads exactly: models park weight on them, and their norms
  /// would coarsen the codes of their block. 0 … 128.
  std::int64_t sinks = 4;
  /// Keep 4-bit values. Without them the index is a third smaller and values are read exactly or stand
  /// for their block's centroid.
  bool values = true;

  bool operator==(const IndexShape&) const = default;
};

/// Belongs to keys and values that the caller keeps: every call is given their pages again. Tokens after
/// the last whole block are not indexed yet; attention reads them exactly. Any number of threads may
/// attend on one Index; changing it needs that nobody else uses it.
///
/// What an index proves holds for the tokens that it was made of. Where these are no longer the ones given,
/// `attend`, `extend` and `save` throw `usage`, if the pages are stamped as those of a KvStore are. Of
/// pages without stamps nobody can tell: their owner must truncate the index whenever indexed tokens
/// change.
class TAMIS_API Index {
 public:
  explicit Index(const IndexShape& shape);
  ~Index();
  Index(Index&&) noexcept;
  Index& operator=(Index&&) noexcept;
  Index(const Index&);
  Index& operator=(const Index&);

  /// Indexes the whole blocks that `kv` (one entry per KV head, all with as many tokens) holds beyond
  /// those already indexed. Call it after appending one token or many: O(d) per token, amortised; reads
  /// each new key and value once. Throws `input`, naming head and token and leaving the index as it was,
  /// if a key or value is NaN or infinite.
  void extend(std::span<const KvPages> kv, Workspace& workspace);
  /// Forgets tokens from `tokens` on; at most 127 tokens before it are indexed again by `extend`. To be
  /// called before other tokens take the place of indexed ones, or after, but before the next use.
  void truncate(std::int64_t tokens);

  [[nodiscard]] const IndexShape& shape() const;
  /// Tokens indexed: a multiple of 128.
  [[nodiscard]] std::int64_t tokens() const;
  /// Bytes of codes, norms and parameters for the tokens indexed.
  [[nodiscard]] std::size_t bytes() const;

  /// Writes the index with a version, a checksum of itself and a hash of the keys and values it was built
  /// from, which `kv` must hold. Reads them once.
  void save(const std::string& path, std::span<const KvPages> kv) const;
  /// `dtype` is that of the keys and values in `kv`, which are read once. Throws `input`, naming the file,
  /// if it is not an index, is damaged, or belongs to other keys and values.
  static Index load(const std::string& path, DType dtype, std::span<const KvPages> kv);

  struct Impl;
  /// Throws `usage` if it was moved from, as every other call does.
  [[nodiscard]] const Impl& impl() const;
  [[nodiscard]] Impl& impl();

 private:
  std::unique_ptr<Impl> impl_;
};

}  // namespace tamis
