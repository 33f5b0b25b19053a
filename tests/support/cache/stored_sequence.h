// A sequence as a cache would store it, put together by hand: blocks of any length and number of
// planes, raw tokens inside and between them, for two KV heads of which the second is the one that
// tests look at.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "cache/view.h"
#include "support/cache/cache_oracle.h"
#include "support/certificates/kinds.h"

namespace tamis::testing {

/// Tokens that are stored together.
struct Piece {
  std::int32_t tokens;    ///< coded together, or a run of raw tokens
  int levels = 0;         ///< coded; 0: raw
  int used = 0;           ///< levels that the sequence still uses; 0: all of them
  std::int32_t kept = 0;  ///< tokens that it still has, the first ones; 0: all of them
  std::vector<std::int32_t>
      raw{};  ///< tokens of a block that are kept raw, beside those that no code can hold
};

class StoredSequence {
 public:
  static constexpr std::int64_t kv_heads = 2;
  static constexpr std::int64_t head = 1;

  /// Coded by the kernels in force; numbers and `rows` queries of the kind.
  StoredSequence(const Heads& heads, DType dtype, Kind kind, int rows,
                 const std::vector<Piece>& pieces, std::uint64_t seed);
  StoredSequence(const StoredSequence&) = delete;

  Heads heads;  ///< some kinds of numbers need a scale of their own
  DType dtype;
  cache::Layout layout;
  cache::SequenceView view;
  std::vector<float> query;             ///< rows × key_dim
  Appended appended;                    ///< what the sequence has of the second KV head
  std::vector<std::byte> keys, values;  ///< the same in the dtype
  /// What reading everything before a position reads of one KV head, and its bytes.
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

}  // namespace tamis::testing
