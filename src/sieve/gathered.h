// Rows of K and V that lie anywhere, brought together so that the dense kernels can work on them.
#pragma once

#include <cmath>
#include <cstring>

#include "sieve/step.h"

namespace tamis {

/// Up to 128 keys with their weights.
struct Gathered {
  std::byte* rows;  ///< 128 rows of max(d, value_d) elements
  float* logits;    ///< rows of the step × 128: logits, then weights
  float* page_sum;  ///< rows of the step × o_stride
  int count = 0;
  std::array<std::int64_t, block_keys> token;
};

inline const std::byte* row_at(const void* const* pages, std::int64_t stride, std::int64_t token,
                               std::int64_t element) {
  return static_cast<const std::byte*>(pages[token / page_tokens]) + token % page_tokens * stride * element;
}

inline void prefetch_row(const void* row, std::int64_t bytes) {
  for (std::int64_t line = 0; line < bytes; line += 64)
    __builtin_prefetch(static_cast<const std::byte*>(row) + line);
}

/// Calls use(i) for i < blocks, and list(i), which asks memory for what use(i) reads, two blocks before: a
/// miss takes as long as a block's work. State of a block may be kept in `pipeline_places` places, by i
/// modulo that.
inline constexpr int pipeline_lead = 2;
inline constexpr int pipeline_places = pipeline_lead + 1;
template <class List, class Use>
void run_ahead(int blocks, List list, Use use) {
  for (int i = -pipeline_lead; i < blocks; ++i) {
    if (i + pipeline_lead < blocks) list(i + pipeline_lead);
    if (i >= 0) use(i);
  }
}

/// The codes of listed keys.
inline void prefetch_listed(const Listed& listed, std::int64_t stride, std::int64_t bytes) {
  for (int i = 0; i < listed.count; ++i) prefetch_row(listed.codes + listed.key[i] * stride, bytes);
}

inline void copy_rows(const Gathered& batch, const void* const* pages, std::int64_t stride,
                      std::int64_t bytes, std::int64_t element) {
  constexpr int ahead = 20;
  for (int i = 0; i < batch.count; ++i) {
    if (i + ahead < batch.count)
      prefetch_row(row_at(pages, stride, batch.token[static_cast<std::size_t>(i + ahead)], element), bytes);
    std::memcpy(batch.rows + i * bytes,
                row_at(pages, stride, batch.token[static_cast<std::size_t>(i)], element),
                static_cast<std::size_t>(bytes));
  }
}

/// logits(r, i) of the batch's keys.
inline void gather_logits(const Step& step, const Gathered& batch) {
  const Shape& shape = step.call->shape;
  copy_rows(batch, step.kv().k, step.kv().k_stride, shape.head_dim * size_of(shape.dtype),
            size_of(shape.dtype));
  step.call->kernels.logits[step.call->type](step.q_dense, step.q_stride, step.rows, batch.rows,
                                             shape.head_dim, batch.count, static_cast<int>(shape.head_dim),
                                             batch.logits, block_keys, batch.rows, 0);
}

/// Turns a row's logits into weights relative to its reference; they may leave the range in which bounds
/// hold.
inline const float* weigh_gathered(const Step& step, std::int64_t span, const Gathered& batch, int r) {
  float* weights = batch.logits + r * block_keys;
  const auto reference = static_cast<float>(step.row[static_cast<std::size_t>(r)].reference);
  if (!(step.call->kernels.maximum(weights, batch.count) - reference < 100.0F))
    step.reads[span].failed = true;
  if (!std::isfinite(step.call->kernels.weigh(weights, batch.count, reference)))
    step.reads[span].failed = true;
  return weights;
}

/// Adds Σ_i weight(r, i)·v_i to the sums of the span, weights being in batch.logits.
inline void gather_values(const Step& step, const Gathered& batch, std::int64_t span) {
  if (batch.count == 0) return;
  const Shape& shape = step.call->shape;
  copy_rows(batch, step.kv().v, step.kv().v_stride, shape.value_dim * size_of(shape.dtype),
            size_of(shape.dtype));
  step.call->kernels.combine[step.call->type](
      batch.logits, block_keys, step.rows, batch.rows, shape.value_dim, batch.count,
      static_cast<int>(shape.value_dim), batch.page_sum, step.o_stride, batch.rows, 0);
  for (int r = 0; r < step.rows; ++r)
    step.call->kernels.scale_add(step.value_sum(span, r), 1.0F, batch.page_sum + r * step.o_stride,
                                 static_cast<int>(step.o_stride));
}

/// sum(r) = Σ_b share(r, b)·centroid_b over a span's blocks, rows × value_d32. Added to the sums of codes
/// last: the larger part does not meet the roundings of up to 2048 codes.
inline void combine_centroids(const Step& step, std::int64_t span, const float* share,
                              const float* centroids, float* sum) {
  const std::int64_t width = step.layout->value_d32;
  step.call->kernels.combine[kv_f32](share, block_keys, step.rows, centroids, width,
                                     static_cast<int>(step.span_end(span) - span * span_blocks),
                                     static_cast<int>(width), sum, width, centroids, 0);
}
inline void add_centroids(const Step& step, std::int64_t span, const float* sum) {
  const std::int64_t width = step.layout->value_d32;
  for (int r = 0; r < step.rows; ++r)
    step.call->kernels.scale_add(step.coded_sum(span, r), 1.0F, sum + r * width, static_cast<int>(width));
}

/// A batch in the scratch of a worker, behind what fold_block uses.
inline Gathered gathered_in(const Step& step, float* scratch) {
  const Layout& layout = *step.layout;
  Gathered batch;
  float* at = scratch + fold_scratch * layout.d32 + step.rows * layout.d32 / 2;
  batch.rows = reinterpret_cast<std::byte*>(at);
  at += block_keys * std::max(layout.d32, layout.value_d32);
  batch.logits = at;
  at += step.rows * block_keys;
  batch.page_sum = at;
  return batch;
}

}  // namespace tamis
