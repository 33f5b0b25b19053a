// Builds the stored form of a sequence by hand, without a cache: blocks of any length and number
// of planes, with raw tokens inside and between them. It has two KV heads; tests read the second.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "cache/view.h"
#include "support/cache/cache_oracle.h"
#include "support/certificates/kinds.h"

namespace tamis::test {

/// Consecutive tokens that are stored together, as one block or as one raw run.
struct Piece {
  std::int32_t tokens;    ///< length of the block or of the raw run
  int levels = 0;         ///< number of planes stored; 0 for a raw run
  int used = 0;           ///< number of planes that the sequence still uses; 0 for all of them
  std::int32_t kept = 0;  ///< length after truncation; 0 for all tokens
  /// Tokens of a block that are kept raw, besides those with numbers too large for codes.
  std::vector<std::int32_t> raw{};
};

class StoredSequence {
 public:
  static constexpr std::int64_t kv_heads = 2;
  static constexpr std::int64_t head = 1;

  /// Draws keys, values and `rows` queries of the given kind; the kernels in force encode them.
  StoredSequence(const Heads& heads, DType dtype, Kind kind, int rows,
                 const std::vector<Piece>& pieces, std::uint64_t seed);
  StoredSequence(const StoredSequence&) = delete;

  Heads heads;  ///< as given, but with the scale that the kind of numbers needs
  DType dtype;
  cache::Layout layout;
  cache::SequenceView view;
  std::vector<float> query;             ///< rows × key_dim
  Appended appended;                    ///< the keys and values of the second KV head
  std::vector<std::byte> keys, values;  ///< the same in `dtype`
  /// What a query that reads all tokens before position `seen` reads of one KV head,
  /// and its bytes.
  [[nodiscard]] Reads reads(std::int64_t seen) const;
  [[nodiscard]] std::int64_t bytes(std::int64_t seen) const;

 private:
  struct Free {
    void operator()(std::byte* memory) const;
  };
  std::byte* take(std::size_t bytes);
  void add_run(const Numbers (&numbers)[2], std::int64_t first, std::int64_t from,
               const std::vector<std::int32_t>& tokens, bool contiguous);

  std::vector<std::unique_ptr<std::byte, Free>> memory_;
  std::vector<std::unique_ptr<std::uint8_t[]>> places_;
  std::vector<cache::CodedBlock> blocks_;
  std::vector<cache::RawRun> runs_;
  std::vector<std::int64_t> raw_positions_;
};

}  // namespace tamis::test
