// The middle mesh: keys whose bound exceeds the row's threshold get the low nibbles of their channels, and
// with them an estimate of their weight and a bound sixteen times narrower. Reads d/2 + 1 bytes per key.
#include <algorithm>
#include <bit>
#include <cmath>

#include "sieve/gathered.h"

namespace tamis {
namespace {

/// Estimates of a block's listed keys lie in rows of whole vectors, padded with zeros.
int padded(int count) { return (count + 15) / 16 * 16; }

/// The bounds of a block are about to be listed.
void prefetch_bounds(const Step& step, std::int64_t block) {
  const float* bounds = step.bounds(block, 0);
  for (std::int64_t i = 0; i < step.rows * block_keys; i += 16) __builtin_prefetch(bounds + i);
}

/// The norms of a block's keys, at either mesh.
void prefetch_norms(const Step& step, std::int64_t block) {
  prefetch_row(step.index->coarse_block(step.head, block).norms(), block_keys);
  prefetch_row(step.index->middle_block(step.head, block).norms(), block_keys);
}

/// Marks and lists the keys of a block to refine; the others stay coarse and leave their sum behind. Their
/// estimates start at `place` in the arrays of the span; returns where the next block's do.
int list_block(Step& step, std::int64_t block, int place) {
  const SieveKernels& kernels = step.call->kernels.sieve;
  Mask mask{};
  for (int r = 0; r < step.rows; ++r) {
    const double threshold = step.row[static_cast<std::size_t>(r)].coarse / step.at(block, r).psi;
    kernels.mark_above(step.bounds(block, r), block_keys, static_cast<float>(std::min(threshold, 0x1p120)),
                       mask.data());
  }
  std::uint8_t* list = step.list + block * block_keys;
  int count = 0;
  for_each_bit(mask, [&](int j) { list[count++] = static_cast<std::uint8_t>(j); });
  step.count[block] = count;
  for (int r = 0; r < step.rows; ++r) {
    BlockRow& row = step.at(block, r);
    row.sum = kernels.sum_unmarked(step.bounds(block, r), block_keys, mask.data());
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
  std::uint8_t* list = step.list + block * block_keys;
  int count = 0;
  for (int j = 0; j < block_keys; ++j)
    if (bit_of(mask, j) && norms[j] != pinned_code) list[count++] = static_cast<std::uint8_t>(j);
  step.count[block] = count;
  step.exact[block] = {};
  for (int i = 0; i < count; ++i) set_bit(step.exact[block], i);
  step.exact_value[block] = step.exact[block];
  step.coded_value[block] = {};
  for (int r = 0; r < step.rows; ++r) {
    step.at(block, r).sum =
        step.call->kernels.sieve.sum_unmarked(step.bounds(block, r), block_keys, mask.data());
    step.at(block, r).place = static_cast<std::int32_t>((block % span_blocks * step.rows + r) * block_keys);
    std::fill_n(step.estimates(block, r), block_keys, 0.0F);
    std::fill_n(step.deltas(block, r), block_keys, 0.0F);
  }
}

Listed listed_codes(const Step& step, std::int64_t block) {
  return {step.index->middle_block(step.head, block).low(), step.list + block * block_keys,
          step.count[block]};
}

/// Adds the estimates to the sums of the span. Fetches the codes of the list `ahead` meanwhile.
bool refine_block(Step& step, std::int64_t block, const Listed& ahead, float* scratch) {
  bool sane = true;
  const Layout& layout = *step.layout;
  const SieveKernels& kernels = step.call->kernels.sieve;
  const int count = step.count[block];
  if (count == 0) return sane;
  float* at = scratch;
  auto* dot = reinterpret_cast<std::int32_t*>(at);
  float* coarse_norm = at + step.rows * block_keys;
  float* middle_norm = coarse_norm + block_keys;

  const auto coarse = step.index->coarse_block(step.head, block);
  const auto middle = step.index->middle_block(step.head, block);
  const std::uint8_t* list = step.list + block * block_keys;
  kernels.dot_listed(listed_codes(step, block), layout.stride, layout.d32, step.integers(block), step.rows,
                     dot, ahead);
  for (int i = 0; i < count; ++i) {
    coarse_norm[i] = coarse.norms()[list[i]];
    middle_norm[i] = middle.norms()[list[i]];
  }
  const int end = padded(count);
  std::fill(coarse_norm + count, coarse_norm + end, 0.0F);
  std::fill(middle_norm + count, middle_norm + end, 0.0F);
  const double root_d = std::sqrt(static_cast<double>(layout.d));
  for (int r = 0; r < step.rows; ++r) {
    const BlockRow& row = step.at(block, r);
    const float* bounds = step.bounds(block, r);
    float* refined = step.estimates(block, r);
    for (int i = 0; i < count; ++i) refined[i] = bounds[list[i]];
    std::fill(refined + count, refined + end, 0.0F);
    std::fill(dot + r * block_keys + count, dot + r * block_keys + end, 0);
    const double width = static_cast<double>(row.slope) * coarse.head().coarse_most + row.error;
    const double error = row.error + unit_roundoff * (60 * root_d * row.norm + 8 * width + 16);
    // In natural units, where the bound of the uncertainty is a polynomial.
    const double slope8 = 0.6931472 * static_cast<double>(row.slope) / 16 * (1 + 0x1p-22);
    const double shift8 = 0.6931472 * error * (1 + 0x1p-22);
    step.sums(block / span_blocks, r).used += static_cast<double>(kernels.refine(
        refined, step.deltas(block, r), dot + r * block_keys, coarse_norm, middle_norm, count, -row.slope,
        row.step / 16, static_cast<float>(-7.5 / 16 * row.step * row.sum_xi - row.error),
        static_cast<float>(slope8), static_cast<float>(shift8)));
    if (!(slope8 * coarse.head().middle_most + shift8 < 1)) sane = false;
    if (!step.ladder()) {  // what a dropped key may carry is its upper bound
      float* delta = step.deltas(block, r);
      for (int i = 0; i < end; ++i) delta[i] = (delta[i] + refined[i]) * (1 + 0x1p-22F);
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
  }
  int place = list_block(step, first, 0);
  prefetch_listed(listed_codes(step, first), step.layout->stride, step.layout->d32 / 2);
  for (std::int64_t block = first; block < end; ++block) {
    Listed ahead{};
    if (block + 1 < end) {
      prefetch_bounds(step, std::min(block + 2, step.blocks - 1));
      place = list_block(step, block + 1, place);
      ahead = listed_codes(step, block + 1);
    }
    prefetch_norms(step, std::min(block + 1, step.blocks - 1));
    if (!refine_block(step, block, ahead, scratch)) step.reads[span].failed = true;
    step.exact[block] = step.coded_value[block] = step.exact_value[block] = {};
  }
  SpanReads& reads = step.reads[span];
  reads.middle_keys = 0;
  for (std::int64_t block = first; block < end; ++block) reads.middle_keys += step.count[block];
  for (int r = 0; r < step.rows; ++r) {
    SpanRow& sums = step.sums(span, r);
    for (std::int64_t block = first; block < end; ++block) {
      const BlockRow& row = step.at(block, r);
      sums.spread += static_cast<double>(row.psi) * row.sum;
      if (step.ladder()) sums.used += static_cast<double>(row.phi) * row.sum;
    }
  }
}

}  // namespace tamis
