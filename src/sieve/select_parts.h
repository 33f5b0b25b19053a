// What the two selections share: tolerances, prices in bytes, marks by threshold, sums over spans.
#pragma once

#include <algorithm>
#include <bit>
#include <cmath>

#include "sieve/step.h"

namespace tamis {

/// Points per octave of the thresholds.
inline constexpr int grid = 4;
/// Under a budget of bytes a value is worth reading from this weight on, in units of the key threshold:
/// true errors of keys are far below their bounds, those of values are not.
inline constexpr double value_worth = 0.11;
/// Dropping: the share of the tolerance that keys which are not even refined may use up.
inline constexpr double unrefined_share = 0.15;

/// Where a walk looks at a sample of blocks: the share of them. A threshold that nothing is promised of is
/// then settled; one that keeps a promise is asked about over all blocks.
inline double share_looked_at(std::int64_t blocks, std::int64_t stride) {
  return static_cast<double>(blocks_picked(blocks, stride)) / static_cast<double>(blocks);
}

/// One block in so many is enough to place a threshold that nothing is promised of.
inline std::int64_t walk_stride(const Step& step) {
  return std::clamp<std::int64_t>(step.blocks / 16, 1, 16);
}

/// Bytes that reading costs, from the layout and the type of K and V.
struct Prices {
  explicit Prices(const Step& step);
  double middle_key, exact_key, middle_value, exact_value;
  /// An exact value by a coded one.
  [[nodiscard]] float value_ratio() const { return static_cast<float>(exact_value / middle_value); }
};

/// Bytes beyond the scan that the rows' thresholds theta·expected lead to, by the bounds of a block, and
/// after refining it.
double coarse_bytes(const Step& step, const Prices& price, std::int64_t block, double theta);
double fine_bytes(const Step& step, const Prices& price, std::int64_t block, double theta);

using Kind = Budget::Kind;

inline Kind kind_of(const Step& step) { return step.row[0].budget.kind; }

inline StepRow& row_of(Step& step, int r) { return step.row[static_cast<std::size_t>(r)]; }
inline const StepRow& row_of(const Step& step, int r) { return step.row[static_cast<std::size_t>(r)]; }

inline float threshold(double t) { return static_cast<float>(std::min(t, 0x1p120)); }
/// Bounds above it are refined.
inline float coarse_threshold(const Step& step, std::int64_t block, int r) {
  return threshold(row_of(step, r).coarse / step.at(block, r).psi);
}

/// How much of a value's distance from its centroid its code misses, at most.
inline float residual_share(const Step& step, std::int64_t block) {
  const BlockHead& head = step.index->coarse_block(step.head, block).head();
  return head.radius > 0 ? std::min(1.0F, 254 * head.residual_unit / head.radius) : 0.0F;
}

/// A row's share of a decision: weights above `limit` are marked, in place of four thresholds at once.
inline void mark(const Step& step, const float* weights, int n, double limit, Mask& mask) {
  step.call->kernels.sieve.mark_above(weights, n, threshold(limit), mask.data());
}

inline std::int64_t keys_above(const Step& step, const float* weights, int n, double t) {
  Mask mask{};
  mark(step, weights, n, t, mask);
  return bits_in(mask);
}

inline bool all_done(const Step& step, Walk StepRow::*walk) {
  for (int r = 0; r < step.rows; ++r)
    if (!(row_of(step, r).*walk).done()) return false;
  return true;
}

inline double sum_over_spans(const Step& step, int r, double SpanRow::*field) {
  double sum = 0;
  for (std::int64_t span = 0; span <= step.spans; ++span) sum += step.sums(span, r).*field;
  return sum;
}

inline float asked_sum(const Step& step, int r, std::array<float, 4> SpanRow::*field, int i) {
  float sum = 0.0F;
  for (std::int64_t span = 0; span < step.spans; ++span)
    sum += (step.sums(span, r).*field)[static_cast<std::size_t>(i)];
  return sum;
}

inline std::int64_t asked_reads(const Step& step, int i) {
  std::int64_t sum = 0;
  for (std::int64_t span = 0; span < step.spans; ++span)
    sum += step.reads[span].asked[static_cast<std::size_t>(i)];
  return sum;
}

inline bool by_keys(const Step& step) {
  return kind_of(step) == Kind::topk || kind_of(step) == Kind::power;
}

/// Whether 4-bit values are there and cheaper than exact ones, which they are not for a handful of
/// channels.
inline bool coded_values(const Step& step, const Prices& price) {
  return step.layout->values && price.middle_value < price.exact_value;
}

/// Direct: a row's threshold on uncertainties for which those below it, over the blocks that a stride
/// picks, sum to at most `limit`; infinite if all of them do. The search starts near `near`.
void walk_keys(Step& step, int r, std::int64_t stride, double limit, double near);
/// … and on weights, for what the values below it may add to the error.
void walk_values(Step& step, int r, std::int64_t stride, double limit, double near);

/// Thresholds of the coarse stage by the blocks that step.every picks.
void walk_coarse(Step& step, float* warm);

inline void ask_all(Step& step, void (*ask)(Step&, std::int64_t)) {
  for (std::int64_t span = 0; span < step.spans; ++span) ask(step, span);
}

}  // namespace tamis
