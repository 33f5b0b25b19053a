// One decode step of one KV head: the arrays that its stages share. The stages, in order:
//   pin      keys that are always exact, and the reference of all weights                pin.cpp
//   scan     the coarse plane of every block: an upper bound of every key's weight      scan.cpp
//   select   thresholds from sums of bounds                                               select_*.cpp
//   refine   the low plane of marked keys: an estimate and a narrow bound of their weight refine.cpp
//   gather   exact keys, coded and exact values, partial outputs                          gather.cpp
//   certify  the output and what it proves                                                certify.cpp
// Where time counts more than bytes the scan is *direct*: it reads both planes, bounds are estimates
// already (phi = 1) and nothing is refined. Work is cut into spans of 16 blocks, which do not depend on the
// number of threads; sums over spans are taken in order.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <span>

#include <tamis/sieve.h>

#include "attention/dense.h"
#include "sieve/index.h"
#include "sieve/walk.h"

namespace tamis {

inline constexpr std::int64_t span_blocks = 16;
inline constexpr double unit_roundoff = 0x1p-24;

using Mask = std::array<std::uint32_t, 4>;  ///< one bit per key of a block, or per listed key
template <std::size_t words>
bool bit_of(const std::array<std::uint32_t, words>& mask, int i) {
  return (mask[static_cast<std::size_t>(i >> 5)] >> (i & 31) & 1U) != 0;
}
inline void set_bit(Mask& mask, int i) { mask[static_cast<std::size_t>(i >> 5)] |= 1U << (i & 31); }
inline int bits_in(const Mask& mask) {
  int n = 0;
  for (const std::uint32_t word : mask) n += std::popcount(word);
  return n;
}
/// Calls body(i) for every set bit i, in order.
template <class Body>
void for_each_bit(const Mask& mask, Body body) {
  for (int word = 0; word < 4; ++word)
    for (std::uint32_t bits = mask[static_cast<std::size_t>(word)]; bits != 0; bits &= bits - 1)
      body(32 * word + std::countr_zero(bits));
}

/// What a block's scan leaves for one row. A weight is 2^(logit − reference of the row), logits being in
/// units of log 2.
struct BlockRow {
  float sum;   ///< Σ upper bounds; direct: estimates, here and wherever bounds are spoken of
  float most;  ///< the largest of them
  float rest;  ///< after refine: Σ over the keys that stay coarse
  float phi;   ///< an estimate is phi·bound, and the weight lies within psi·bound of it
  float psi;
  float rho;    ///< expected uncertainty after refining, as a share of the bound
  float slope;  ///< a bound exceeds its estimate by 2^(slope·code + error)
  float error;
  float step;      ///< of the query's integers
  float norm;      ///< ‖q·step‖₂, at least
  float rounding;  ///< relative error of a weight computed from an exact key of the block
  float spread;    ///< Σ of the uncertainty of all keys, after gather
  std::int32_t sum_xi;
  std::int32_t place;  ///< of what refine leaves for its listed keys, in the arrays of its span
};

/// Sums of one row over a span.
struct SpanRow {
  double used;      ///< Σ ê
  double spread;    ///< Σ δ
  double rounding;  ///< the part of it that is rounding of exact keys
  double product;   ///< Σ u·r + Σ δ·(a − distance of the block's centroid from the output)
  double expected;  ///< select: Σ estimates
  std::array<float, 4> asked;  ///< select: sums at the points of a walk
  std::array<float, 4> asked_value;
  float low;  ///< Σ ê·(low end of a coded value)
};

/// What a span read.
struct SpanReads {
  std::int64_t middle_keys, exact_keys, middle_values, exact_values;
  std::int64_t scaled_blocks;  ///< direct: of which all low ends, steps and norms of values were read
  std::array<std::int64_t, 4> asked;  ///< select: bytes or keys at the points of a walk
  bool failed;                        ///< a number left the range in which bounds hold
};

struct StepRow {
  std::int64_t index;  ///< in q and in the results
  std::int64_t seen;
  Budget budget;
  double query_norm;  ///< ‖scale·log₂e·q‖₂, at least
  double reference;   ///< the logit whose weight is 1
  double expected;    ///< Σ estimates after the scan
  double limit;       ///< what the sums of a walk may reach
  double value_limit;
  std::int64_t keys;  ///< topk: how many keys of this row
  double coarse;      ///< threshold on psi·bound: above it a key is refined
  double exact;       ///< direct: threshold on the uncertainty, above it a key is read exactly
  double valued;      ///< direct: threshold on the weight, above it a value is read
  Walk walk;
  Walk value_walk;
};

std::int64_t sample_stride(std::int64_t blocks);

/// Blocks by which a stride stands for all: the one in the middle of every `stride`. The last would be the
/// newest block of a context, which is like no other.
inline bool picked(std::int64_t block, std::int64_t stride) { return block % stride == stride / 2; }
inline std::int64_t blocks_picked(std::int64_t blocks, std::int64_t stride) {
  return (blocks + stride - 1 - stride / 2) / stride;
}
/// Calls body(block) for those of first … end − 1.
template <class Body>
void for_each_picked(std::int64_t first, std::int64_t end, std::int64_t stride, Body body) {
  const std::int64_t start = first + (stride / 2 + stride - first % stride) % stride;
  for (std::int64_t block = start; block < end; block += stride) body(block);
}

struct Step {
  const DenseCall* call;
  const Index::Impl* index;
  const Layout* layout;
  const SieveOptions* options;
  std::int64_t head;  ///< KV head
  int rows;
  std::int64_t keys;    ///< the most that a row sees
  std::int64_t blocks;  ///< indexed blocks with a key that some row sees
  std::int64_t spans;   ///< of blocks; one more follows for keys that are not indexed
  std::int64_t q_stride, o_stride;
  double root_d;        ///< √d
  double chain;         ///< sum_chain
  std::int64_t pinned;  ///< keys read exactly in any case: pinned ones, then those after the last block
  std::array<StepRow, sieve_rows> row;
  Walk walk;             ///< of budgets that the rows share
  bool dense;            ///< give up: compute densely
  bool direct;           ///< scan both meshes at once, so that there is nothing to refine
  bool counting;         ///< budgets of bytes: the rows share one walk; topk: still counting keys
  std::int64_t every;    ///< walks look at one block in `every`
  bool sane;             ///< the sampled bounds are in range
  bool settled;          ///< the coarse thresholds leave the fine ones room to meet the budget
  double strictness;     ///< share of a mass budget that the coarse stage plans with
  double pinned_norm;    ///< ‖v‖₂ of pinned keys, at least
  std::int64_t scanned;  ///< blocks
  std::int64_t cap;      ///< bytes that may be read

  float* pinned_weight;  ///< rows × pinned
  float* q;              ///< rows × d32, scaled
  float* q_dense;        ///< the same where the dense kernels want it, rows × q_stride
  std::int16_t* folded;  ///< blocks × rows × d32: the queries in the steps of each block
  float* bound;          ///< blocks × rows × 128
  float* refined;  ///< spans × up to 16 · rows · 128: of listed keys, close together to stay in cache
  float* delta;    ///< uncertainty of `refined`
  BlockRow* block_row;  ///< blocks × rows
  std::uint8_t* list;   ///< blocks × picked_stride: keys refined
  std::int32_t* count;  ///< per block
  Mask* exact;          ///< per block, by place in the list: read the exact key
  Mask* coded_value;    ///< … the 4-bit value
  Mask* exact_value;    ///< … the exact value
  SpanRow* span_row;    ///< (spans + 1) × rows
  SpanReads* reads;     ///< spans + 1
  float* partial;       ///< (spans + 1) × rows × (value_d32 + o_stride): outputs from codes, from values

  [[nodiscard]] bool ladder() const {
    return options->ladder && row[0].budget.kind != Budget::Kind::window;
  }
  /// Whether the block was scanned by `sample`.
  [[nodiscard]] bool sampled(std::int64_t block) const { return picked(block, sample_stride(blocks)); }
  [[nodiscard]] BlockRow& at(std::int64_t block, int r) const { return block_row[block * rows + r]; }
  /// A direct scan uses the integers of a block at once, and each worker's in its scratch.
  [[nodiscard]] std::int16_t* integers(std::int64_t block, float* scratch) const {
    return direct ? reinterpret_cast<std::int16_t*>(scratch + fold_scratch * layout->d32) : integers(block);
  }
  [[nodiscard]] std::int16_t* integers(std::int64_t block) const {
    return folded + block * rows * layout->d32;
  }
  [[nodiscard]] float* bounds(std::int64_t block, int r) const {
    return bound + (block * rows + r) * block_keys;
  }
  [[nodiscard]] float* estimates(std::int64_t block, int r) const { return refined + listed_at(block, r); }
  [[nodiscard]] float* deltas(std::int64_t block, int r) const { return delta + listed_at(block, r); }
  [[nodiscard]] std::int64_t listed_at(std::int64_t block, int r) const {
    return block / span_blocks * (span_blocks * rows * block_keys) + at(block, r).place;
  }
  [[nodiscard]] std::uint8_t* listed(std::int64_t block) const { return list + block * picked_stride; }
  [[nodiscard]] SpanRow& sums(std::int64_t span, int r) const { return span_row[span * rows + r]; }
  [[nodiscard]] float* coded_sum(std::int64_t span, int r) const {
    return partial + (span * rows + r) * (layout->value_d32 + o_stride);
  }
  [[nodiscard]] float* value_sum(std::int64_t span, int r) const {
    return coded_sum(span, r) + layout->value_d32;
  }
  [[nodiscard]] std::int64_t span_end(std::int64_t span) const {
    return std::min(blocks, (span + 1) * span_blocks);
  }
  /// The token of pinned key i < pinned.
  [[nodiscard]] std::int64_t pinned_token(std::int64_t i) const {
    const std::int64_t behind = blocks * block_keys;
    const std::int64_t listed = pinned - std::max<std::int64_t>(0, keys - behind);
    return i < listed ? index->pinned[static_cast<std::size_t>(head)][static_cast<std::size_t>(i)]
                      : behind + (i - listed);
  }
  [[nodiscard]] const KvPages& kv() const { return call->kv[static_cast<std::size_t>(head)]; }
};

/// Floats of scratch that a stage needs on a worker.
std::int64_t step_scratch(const Layout& layout, int rows, std::int64_t o_stride);
/// Its last part, of a direct gather.
std::int64_t direct_scratch(const Layout& layout, int rows);

/// Scans one block in stride, each relative to the logit of its own centre, and sets the references of the
/// rows to the largest logits found.
void sample(Step& step, float* scratch);
/// After `pin`: makes the bounds of the sampled blocks relative to the rows' references.
void settle_sample(Step& step);
/// Reads the pinned keys and values: sets every row's reference and fills the sums of the last span.
void pin(Step& step, float* scratch);
void scan_span(Step& step, std::int64_t span, float* scratch);
void refine_span(Step& step, std::int64_t span, float* scratch);
void gather_span(Step& step, std::int64_t span, float* scratch);
/// The same after a direct scan.
void gather_direct(Step& step, std::int64_t span, float* scratch);
/// Output, log-sum-exp and certificates; false if a number is out of range or tau misses a mass budget.
bool certify(Step& step, float* scratch, View<float> out, std::span<float> lse,
             std::span<Certificate> certificates);

}  // namespace tamis
