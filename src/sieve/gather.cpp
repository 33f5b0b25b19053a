// The last reading: exact keys, then values at the mesh that their weight deserves, into partial outputs
// of a span. Costs (d + d_v)·size bytes per exact key and value, d_v/2 + 5 per coded value.
#include <algorithm>
#include <bit>
#include <cmath>

#include "sieve/gathered.h"

namespace tamis {
namespace {

struct Place {
  std::int64_t block;
  int at;  // in the block's list
};

/// Replaces the estimates of the batch's keys by exact weights.
void settle_keys(Step& step, std::int64_t span, Gathered& batch,
                 const std::array<Place, block_keys>& place) {
  if (batch.count == 0) return;
  gather_logits(step, batch);
  for (int r = 0; r < step.rows; ++r) {
    const StepRow& row = step.row[static_cast<std::size_t>(r)];
    const float* weights = weigh_gathered(step, span, batch, r);
    for (int i = 0; i < batch.count; ++i) {
      const Place& at = place[static_cast<std::size_t>(i)];
      const bool sees = batch.token[static_cast<std::size_t>(i)] < row.seen;
      const float weight = sees ? weights[i] : 0.0F;
      step.estimates(at.block, r)[at.at] = weight;
      step.deltas(at.block, r)[at.at] = weight * step.at(at.block, r).rounding;
    }
  }
  batch.count = 0;
}

/// Values that are read exactly, with the weights of their keys.
void add_exact_values(Step& step, std::int64_t span, Gathered& batch,
                      const std::array<Place, block_keys>& place) {
  for (int r = 0; r < step.rows; ++r)
    for (int i = 0; i < batch.count; ++i)
      batch.logits[r * block_keys + i] = step.estimates(place[static_cast<std::size_t>(i)].block,
                                                        r)[place[static_cast<std::size_t>(i)].at];
  gather_values(step, batch, span);
  batch.count = 0;
}

/// For every set bit of the masks of a span's blocks: calls flush whenever the batch is full, and at the
/// end.
template <class Flush>
void for_marked(const Step& step, std::int64_t span, const Mask* masks, Gathered& batch,
                std::array<Place, block_keys>& place, Flush flush) {
  batch.count = 0;
  for (std::int64_t block = span * span_blocks; block < step.span_end(span); ++block) {
    for_each_bit(masks[block], [&](int at) {
      batch.token[static_cast<std::size_t>(batch.count)] = block * block_keys + step.listed(block)[at];
      place[static_cast<std::size_t>(batch.count)] = {block, at};
      if (++batch.count == block_keys) flush();
    });
  }
  flush();
}

/// What the sums of the span's blocks read of the index.
void prefetch_span(const Step& step, std::int64_t span) {
  for (std::int64_t block = span * span_blocks; block < step.span_end(span); ++block) {
    const auto coarse = step.index->coarse_block(step.head, block);
    __builtin_prefetch(coarse.at);
    prefetch_row(coarse.centroid(), step.layout->value_d32 * size_of(DType::bf16));
  }
}

/// What add_coded_values reads for each key of a block, but for the codes.
void prefetch_scales(const Step& step, std::int64_t block) {
  const auto middle = step.index->middle_block(step.head, block);
  prefetch_row(middle.value_norms(), block_keys);
  prefetch_row(middle.value_low(), block_keys * size_of(DType::bf16));
  prefetch_row(middle.value_step(), block_keys * size_of(DType::bf16));
}

/// The keys of a block whose 4-bit values are read.
struct CodedKeys {
  std::array<std::uint8_t, picked_stride> key;
  int count;
  float* weight;  ///< rows of picked_stride
  float* delta;
};

void list_coded(const Step& step, std::int64_t block, CodedKeys& coded) {
  const std::int64_t stride = step.rows > 1 ? step.at(block, 1).place - step.at(block, 0).place : 0;
  coded.count = step.call->kernels.sieve.pick_marked(
      step.listed(block), step.count[block], step.coded_value[block].data(), step.rows,
      step.estimates(block, 0), step.deltas(block, 0), stride, coded.key.data(), coded.weight, coded.delta);
}

Listed codes_of(const Step& step, std::int64_t block, const CodedKeys& coded) {
  return {step.index->middle_block(step.head, block).value_codes(), coded.key.data(), coded.count};
}

/// The 4-bit values of a block: weighted codes into the span's sums.
void add_coded_values(Step& step, std::int64_t span, std::int64_t block, const CodedKeys& coded,
                      float* scratch) {
  const Layout& layout = *step.layout;
  const auto middle = step.index->middle_block(step.head, block);
  const float unit = step.index->coarse_block(step.head, block).head().residual_unit;
  const auto& [key, count, weight, delta] = coded;
  std::array<float, block_keys> low, size, residual;
  for (int i = 0; i < count; ++i) {
    const auto k = static_cast<std::size_t>(i);
    low[k] = to_float(middle.value_low()[key[k]]);
    size[k] = to_float(middle.value_step()[key[k]]);
    residual[k] = unit * static_cast<float>(middle.value_norms()[key[k]]);
  }
  for (auto k = static_cast<std::size_t>(count); k % 16 != 0; ++k) low[k] = size[k] = residual[k] = 0.0F;
  float* weights = scratch;  // rows × 128
  for (int r = 0; r < step.rows; ++r) {
    SpanRow& sums = step.sums(span, r);
    const CodedSums add = step.call->kernels.sieve.weigh_codes(
        weight + r * picked_stride, delta + r * picked_stride, size.data(), low.data(), residual.data(),
        count, weights + r * block_keys);
    sums.low += add.low;
    // More than what the kernel, and the residuals before it, may have rounded down.
    sums.product += static_cast<double>(add.product) * (1 + 0x1p-16) + 0x1p-139;
  }
  step.call->kernels.sieve.combine_codes(weights, block_keys, step.rows, codes_of(step, block, coded),
                                         layout.value_stride(), layout.value_d32, step.coded_sum(span, 0),
                                         layout.value_d32 + step.o_stride);
}

/// The 4-bit values of a span; `room` is for 6·rows rows of picked_stride, `weights` for rows × 128.
void add_codes(Step& step, std::int64_t span, float* room, float* weights) {
  const Layout& layout = *step.layout;
  std::array<std::int64_t, span_blocks> work;
  int blocks = 0;
  for (std::int64_t block = span * span_blocks; block < step.span_end(span); ++block)
    if (bits_in(step.coded_value[block]) > 0) work[static_cast<std::size_t>(blocks++)] = block;
  std::array<CodedKeys, pipeline_places> coded;
  for (CodedKeys& some : coded) {
    some.weight = room;
    some.delta = room + step.rows * picked_stride;
    room += 2 * step.rows * picked_stride;
  }
  const auto of = [&](int i) -> CodedKeys& { return coded[static_cast<std::size_t>(i % pipeline_places)]; };
  const auto at = [&](int i) { return work[static_cast<std::size_t>(i)]; };
  run_ahead(
      blocks,
      [&](int i) {
        list_coded(step, at(i), of(i));
        prefetch_scales(step, at(i));
        prefetch_listed(codes_of(step, at(i), of(i)), layout.value_stride(), layout.value_stride());
      },
      [&](int i) { add_coded_values(step, span, at(i), of(i), weights); });
}

}  // namespace

void gather_span(Step& step, std::int64_t span, float* scratch) {
  const Layout& layout = *step.layout;
  const SieveKernels& kernels = step.call->kernels.sieve;
  const std::int64_t first = span * span_blocks;
  const std::int64_t end = step.span_end(span);
  for (int r = 0; r < step.rows; ++r) {
    SpanRow& sums = step.sums(span, r);
    sums.used = sums.spread = sums.rounding = sums.product = 0;
    sums.low = 0.0F;
    std::fill_n(step.coded_sum(span, r), layout.value_d32 + step.o_stride, 0.0F);
  }
  prefetch_span(step, span);
  Gathered batch = gathered_in(step, scratch);
  std::array<Place, block_keys> place;
  for_marked(step, span, step.exact, batch, place, [&] { settle_keys(step, span, batch, place); });
  for_marked(step, span, step.exact_value, batch, place,
             [&] { add_exact_values(step, span, batch, place); });

  SpanReads& reads = step.reads[span];
  reads.exact_keys = reads.middle_values = reads.exact_values = 0;
  float* share = batch.logits;  // rows × 128: what each block's centroid stands for
  float* centroids = batch.page_sum + step.rows * step.o_stride;
  const bool ladder = step.ladder();
  for (std::int64_t block = first; block < end; ++block) {
    const int count = step.count[block];
    const auto coarse = step.index->coarse_block(step.head, block);
    const double radius = coarse.head().radius;
    const Mask& exact = step.exact[block];
    const Mask& coded = step.coded_value[block];
    const Mask& whole = step.exact_value[block];
    Mask valued;
    for (std::size_t w = 0; w < 4; ++w) valued[w] = coded[w] | whole[w];
    reads.exact_keys += bits_in(exact);
    reads.middle_values += bits_in(coded);
    reads.exact_values += bits_in(whole);
    if (!ladder) {  // keys that were not read exactly are dropped: their weight is 0
      for (int r = 0; r < step.rows; ++r)
        for (int i = 0; i < count; ++i)
          if (!bit_of(exact, i)) step.estimates(block, r)[i] = 0.0F;
    }
    for (int r = 0; r < step.rows; ++r) {
      BlockRow& row = step.at(block, r);
      const float* estimates = step.estimates(block, r);
      const float* deltas = step.deltas(block, r);
      const PartSums part = kernels.part_sums(estimates, deltas, count, valued.data(), whole.data());
      const double used = part.used;
      const double spread = part.spread;
      const double centroid_spread = part.centroid_spread;
      const double tail_used = ladder ? static_cast<double>(row.phi) * row.rest : 0.0;
      const double tail_spread = static_cast<double>(row.psi) * row.rest;
      SpanRow& sums = step.sums(span, r);
      sums.used += used + tail_used;
      sums.spread += spread + tail_spread;
      if (!ladder) sums.rounding += static_cast<double>(kernels.sum_marked(deltas, count, exact.data()));
      // Coarse keys and those without a value stand at the centroid: r = radius. A value that was read is
      // within the radius of it. Coded values add their own residuals in add_coded_values.
      sums.product += radius * (static_cast<double>(row.rest) + part.centroid_used + centroid_spread) +
                      radius * (spread - centroid_spread);
      row.spread = static_cast<float>((spread + tail_spread) * (1 + 0x1p-20));
      share[r * block_keys + (block - first)] =
          ladder ? static_cast<float>(tail_used + used - part.exact_used) : 0.0F;
    }
    step.call->kernels.widen[kv_bf16](coarse.centroid(), centroids + (block - first) * layout.value_d32,
                                      layout.value_d32);
  }
  if (!ladder) return;
  // Their room is needed for codes, after which they are added.
  float* centroid_sum =
      scratch + step_scratch(layout, step.rows, step.o_stride) - step.rows * layout.value_d32;
  combine_centroids(step, span, share, centroids, centroid_sum);
  if (layout.values) add_codes(step, span, centroids, batch.logits);
  add_centroids(step, span, centroid_sum);
}

}  // namespace tamis
