// The input of one work item of sparse attention: some query rows of one KV head of one sequence.
// It does not change while the stages run. A row is one query of one query head.
#pragma once

#include <array>
#include <cstdint>
#include <span>

#include <tamis/attend.h>

#include "cache/view.h"
#include "kernels/kernels.h"

namespace tamis::sieve {

inline constexpr int most_rows = static_cast<int>(pass_rows);
/// The number of blocks in a span. The weights of a span share a reference, and its outputs are
/// added up before spans are merged.
inline constexpr std::int64_t span_blocks = 16;

struct Row {
  std::int64_t seen;  ///< the row sees tokens 0 … seen − 1
  const Budget* budget;
};

struct Problem {
  const kernels::Kernels& kernels;
  const Heads& heads;
  const cache::Layout& layout;
  const cache::SequenceView& sequence;
  const AttendOptions& options;
  DType dtype;        ///< of raw tokens
  std::int64_t head;  ///< KV head
  int rows;
  std::array<Row, most_rows> row;
  std::int64_t seen;    ///< the largest `seen` of all rows
  std::int64_t blocks;  ///< number of coded blocks with a token that some row sees
  /// rows × key_d32 floats, padded with zeros: the queries times scale·log₂e, so that logits are
  /// exponents of 2.
  const float* query;
  std::array<double, most_rows> query_norm;  ///< upper bounds on the norms of these rows
  /// For each row, where to store the weights of its tokens for tests (testing.h); null otherwise.
  std::array<double*, most_rows> told{};

  [[nodiscard]] std::int64_t spans() const { return (blocks + span_blocks - 1) / span_blocks; }
  [[nodiscard]] std::int64_t span_end(std::int64_t span) const {
    return blocks < (span + 1) * span_blocks ? blocks : (span + 1) * span_blocks;
  }
  [[nodiscard]] const cache::CodedBlock& coded(std::int64_t block) const {
    return sequence.blocks[static_cast<std::size_t>(block)];
  }
  [[nodiscard]] cache::HeadBlock block(std::int64_t b) const {
    const cache::CodedBlock& coded = sequence.blocks[static_cast<std::size_t>(b)];
    return cache::head_block(layout, coded.page.data(), coded.levels, head);
  }
};

/// Sums over some of the keys for one row, in the notation of docs/certificates.md, section "The
/// bounds". Weights are 2^(logit − reference).
struct Partial {
  double reference = 0;
  double used = 0;    ///< Σ ê
  double spread = 0;  ///< Σ δ, where |e − ê| ≤ δ
  /// Σ u·r + Σ δ·a without the parts of a that depend on the output; certify() adds these.
  double product = 0;
  double dropped = 0;   ///< Σ of upper bounds on the weights of keys that are left out (ê = 0)
  double vanished = 0;  ///< bounds what weights too small for f32 may add to Σ δ
};

}  // namespace tamis::sieve
