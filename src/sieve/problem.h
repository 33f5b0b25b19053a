// The input of one piece of work: some query rows of one KV head of one sequence. Nothing in it
// changes while the stages run; each stage returns what it computes.
#pragma once

#include <array>
#include <cstdint>
#include <span>

#include <tamis/attend.h>

#include "cache/view.h"
#include "kernels/kernels.h"

namespace tamis::sieve {

inline constexpr int most_rows = static_cast<int>(pass_rows);
/// Blocks whose weights share a reference and whose outputs are added up before they are merged.
inline constexpr std::int64_t span_blocks = 16;

/// A query of one query head.
struct Row {
  std::int64_t seen;  ///< tokens 0 … seen − 1
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
  std::int64_t seen;    ///< the most that a row sees
  std::int64_t blocks;  ///< coded blocks with a token that some row sees
  /// rows × key_d32 floats, padded with zeros: the queries times scale·log₂e, so that logits are
  /// exponents of 2.
  const float* query;
  std::array<double, most_rows> query_norm;  ///< of these, at least
  /// Where the weights of a row's tokens go, for tests: see testing.h. Null otherwise.
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

/// What some of the keys add up to for one row. Weights are 2^(logit − reference).
struct Partial {
  double reference = 0;
  double used = 0;      ///< Σ ê
  double spread = 0;    ///< Σ δ, |e − ê| ≤ δ
  double product = 0;   ///< Σ u·r + Σ δ·a, but for what `spread_at` of the blocks says about a
  double dropped = 0;   ///< Σ upper bounds of keys that are left out: ê = 0
  double vanished = 0;  ///< what weights too small for f32 may add to Σ δ
};

}  // namespace tamis::sieve
