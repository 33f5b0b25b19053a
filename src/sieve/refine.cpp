// The middle mesh: keys whose bound exceeds the row's threshold get the low nibbles of their channels, and
// with them an estimate of their weight and a bound sixteen times narrower. Reads d/2 + 1 bytes per key.
#include <algorithm>
#include <bit>
#include <cmath>

#include "sieve/gathered.h"
#include "sieve/select.h"
#include "sieve/select_parts.h"

namespace tamis {
namespace {

/// Estimates of a block's listed keys lie in rows of whole vectors, padded with zeros.
int padded(int count) { return (count + 15) / 16 * 16; }

/// What is known of the keys that a block refines.
struct Candidates {
  std::array<std::uint8_t, picked_stride> coarse;
  std::array<std::uint8_t, picked_stride> middle;
  float* bound;  ///< rows of picked_stride
};

/// Whether a key of the block may exceed its row's threshold.
bool worth_picking(const Step& step, std::int64_t block) {
  for (int r = 0; r < step.rows; ++r) {
    const BlockRow& row = step.at(block, r);
    if (static_cast<double>(row.most) * row.psi > step.row[static_cast<std::size_t>(r)].coarse) return true;
  }
  return false;
}

/// What picking from a block and refining it read, but for the codes.
void prefetch_block(const Step& step, std::int64_t block) {
  const auto coarse = step.index->coarse_block(step.head, block);
  __builtin_prefetch(coarse.at);
  prefetch_row(coarse.norms(), block_keys);
  prefetch_row(step.index->middle_block(step.head, block).norms(), block_keys);
  prefetch_row(step.bounds(block, 0), step.rows * block_keys * 4);
  prefetch_row(step.integers(block), step.rows * step.layout->d32 * 2);
}

/// Lists the keys of a block to refine; the others stay coarse and leave their sum behind. Their
/// estimates start at `place` in the arrays of the span; returns where the next block's do.
int list_block(Step& step, std::int64_t block, int place, Candidates& candidates) {
  std::array<float, sieve_rows> thresholds, rest;
  for (int r = 0; r < step.rows; ++r)
    thresholds[static_cast<std::size_t>(r)] = coarse_threshold(step, block, r);
  const int count = step.call->kernels.sieve.pick(
      step.bounds(block, 0), step.rows, thresholds.data(),
      step.index->coarse_block(step.head, block).norms(),
      step.index->middle_block(step.head, block).norms(),
      {step.listed(block), candidates.coarse.data(), candidates.middle.data(), candidates.bound},
      rest.data());
  step.count[block] = count;
  for (int r = 0; r < step.rows; ++r) {
    BlockRow& row = step.at(block, r);
    row.rest = rest[static_cast<std::size_t>(r)];
    row.place = place;
    place += padded(count);
  }
  return place;
}

/// A window is not chosen by weight: all of its keys are read exactly and none is refined.
void list_window(Step& step, std::int64_t block) {
  Mask mask{};
  for (int r = 0; r < step.rows; ++r) {
    const StepRow& row = step.row[static_cast<std::size_t>(r)];
    for (int j = 0; j < block_keys; ++j) {
      const std::int64_t token = block * block_keys + j;
      const bool inside = token < row.budget.sinks || token >= row.seen - row.budget.window;
      if (inside && token < row.seen) set_bit(mask, j);
    }
  }
  const std::uint8_t* norms = step.index->coarse_block(step.head, block).norms();
  std::uint8_t* list = step.listed(block);
  int count = 0;
  for (int j = 0; j < block_keys; ++j)
    if (bit_of(mask, j) && norms[j] != pinned_code) list[count++] = static_cast<std::uint8_t>(j);
  step.count[block] = count;
  step.exact[block] = {};
  for (int i = 0; i < count; ++i) set_bit(step.exact[block], i);
  step.exact_value[block] = step.exact[block];
  step.coded_value[block] = {};
  for (int r = 0; r < step.rows; ++r) {
    step.at(block, r).rest =
        step.call->kernels.sieve.sum_unmarked(step.bounds(block, r), block_keys, mask.data());
    step.at(block, r).place = static_cast<std::int32_t>((block % span_blocks * step.rows + r) * block_keys);
    std::fill_n(step.estimates(block, r), block_keys, 0.0F);
    std::fill_n(step.deltas(block, r), block_keys, 0.0F);
  }
}

Listed listed_codes(const Step& step, std::int64_t block) {
  return {step.index->middle_block(step.head, block).low(), step.listed(block), step.count[block]};
}

/// Adds the estimates to the sums of the span.
bool refine_block(Step& step, std::int64_t block, const Candidates& candidates, float* scratch) {
  bool sane = true;
  const Layout& layout = *step.layout;
  const SieveKernels& kernels = step.call->kernels.sieve;
  const int count = step.count[block];
  if (count == 0) return sane;
  auto* dot = reinterpret_cast<std::int32_t*>(scratch);  // rows × 128
  const auto coarse = step.index->coarse_block(step.head, block);
  kernels.dot_listed(listed_codes(step, block), layout.low_stride(), layout.d32, step.integers(block),
                     step.rows, dot);
  const double root_d = std::sqrt(static_cast<double>(layout.d));
  for (int r = 0; r < step.rows; ++r) {
    const BlockRow& row = step.at(block, r);
    float* refined = step.estimates(block, r);
    const double width = static_cast<double>(row.slope) * coarse.head().coarse_most + row.error;
    const double error = row.error + unit_roundoff * (60 * root_d * row.norm + 8 * width + 16);
    // In natural units, where the bound of the uncertainty is a polynomial.
    const double slope8 = 0.6931472 * static_cast<double>(row.slope) / 16 * (1 + 0x1p-22);
    const double shift8 = 0.6931472 * error * (1 + 0x1p-22);
    step.sums(block / span_blocks, r).used += static_cast<double>(kernels.refine(
        candidates.bound + r * picked_stride, refined, step.deltas(block, r), dot + r * block_keys,
        candidates.coarse.data(), candidates.middle.data(), count, -row.slope, row.step / 16,
        static_cast<float>(-7.5 / 16 * row.step * row.sum_xi - row.error), static_cast<float>(slope8),
        static_cast<float>(shift8)));
    if (!(slope8 * coarse.head().middle_most + shift8 < 1)) sane = false;
    if (!step.ladder()) {  // what a dropped key may carry is its upper bound
      float* delta = step.deltas(block, r);
      for (int i = 0; i < padded(count); ++i) delta[i] = (delta[i] + refined[i]) * (1 + 0x1p-22F);
    }
  }
  return sane;
}

}  // namespace

void refine_span(Step& step, std::int64_t span, float* scratch) {
  const std::int64_t first = span * span_blocks;
  const std::int64_t end = step.span_end(span);
  if (step.row[0].budget.kind == Budget::Kind::window) {
    for (std::int64_t block = first; block < end; ++block) list_window(step, block);
    return;
  }
  for (int r = 0; r < step.rows; ++r) {
    SpanRow& sums = step.sums(span, r);
    sums.used = sums.spread = sums.product = 0;
    sums.asked = sums.asked_value = {};
  }
  // The blocks with something to refine; the others stay as they are.
  std::array<std::int64_t, span_blocks> work;
  int blocks = 0;
  for (std::int64_t block = first; block < end; ++block) {
    step.exact[block] = step.coded_value[block] = step.exact_value[block] = {};
    if (worth_picking(step, block)) {
      work[static_cast<std::size_t>(blocks++)] = block;
      continue;
    }
    step.count[block] = 0;
    for (int r = 0; r < step.rows; ++r) {
      step.at(block, r).rest = step.at(block, r).sum;
      step.at(block, r).place = 0;
    }
  }
  std::array<Candidates, pipeline_places> candidates;
  for (Candidates& some : candidates) {
    some.bound = scratch;
    scratch += step.rows * picked_stride;
  }
  const auto of = [&](int i) -> Candidates& {
    return candidates[static_cast<std::size_t>(i % pipeline_places)];
  };
  const auto at = [&](int i) { return work[static_cast<std::size_t>(i)]; };
  int place = 0;
  for (int i = 0; i < std::min(pipeline_places, blocks); ++i) prefetch_block(step, at(i));
  run_ahead(
      blocks,
      [&](int i) {
        if (i >= pipeline_lead && i + 1 < blocks) prefetch_block(step, at(i + 1));
        place = list_block(step, at(i), place, of(i));
        prefetch_listed(listed_codes(step, at(i)), step.layout->low_stride(), step.layout->low_stride());
      },
      [&](int i) {
        if (!refine_block(step, at(i), of(i), scratch)) step.reads[span].failed = true;
        ask_refined(step, at(i));
      });
  SpanReads& reads = step.reads[span];
  reads.middle_keys = 0;
  for (std::int64_t block = first; block < end; ++block) reads.middle_keys += step.count[block];
  for (int r = 0; r < step.rows; ++r) {
    SpanRow& sums = step.sums(span, r);
    for (std::int64_t block = first; block < end; ++block) {
      const BlockRow& row = step.at(block, r);
      sums.spread += static_cast<double>(row.psi) * row.rest;
      if (step.ladder()) sums.used += static_cast<double>(row.phi) * row.rest;
    }
  }
}

}  // namespace tamis
