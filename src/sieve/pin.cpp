// Keys that are always read exactly: sinks, keys that no code can hold, and those after the last indexed
// block. They also help to set the reference: the logit whose weight is 1, near the largest of the row.
#include <algorithm>
#include <cmath>
#include <limits>

#include "sieve/fold.h"
#include "sieve/gathered.h"

namespace tamis {
namespace {

void take(const Step& step, std::int64_t first, Gathered& batch) {
  batch.count = static_cast<int>(std::min<std::int64_t>(block_keys, step.pinned - first));
  for (int i = 0; i < batch.count; ++i)
    batch.token[static_cast<std::size_t>(i)] = step.pinned_token(first + i);
}

/// ‖x‖₂ of a gathered row of floats, halves or bfloats, at least.
double norm_of(const Step& step, const std::byte* row, std::int64_t dim, float* wide) {
  step.call->kernels.widen[step.call->type](row, wide, dim);
  std::array<double, 4> sum{};  // which do not wait for each other
  for (std::int64_t c = 0; c < dim; ++c)
    sum[static_cast<std::size_t>(c % 4)] += static_cast<double>(wide[c]) * wide[c];
  return std::sqrt(sum[0] + sum[1] + sum[2] + sum[3]) * (1 + static_cast<double>(dim + 4) * 0x1p-53);
}

}  // namespace

void pin(Step& step, float* scratch) {
  const Shape& shape = step.call->shape;
  const double chain = sum_chain(*step.call, step.layout->d32);
  const auto d = static_cast<double>(step.layout->d);
  Gathered batch = gathered_in(step, scratch);
  const std::int64_t last = step.spans;
  step.reads[last] = {};
  step.reads[last].exact_keys = step.reads[last].exact_values = step.pinned;
  for (int r = 0; r < step.rows; ++r) {
    step.sums(last, r) = {};
    std::fill_n(step.coded_sum(last, r), step.layout->value_d32 + step.o_stride, 0.0F);
  }
  float* wide = batch.page_sum + step.rows * step.o_stride;  // one row, behind what the batch uses
  double key_norm = 0;
  double value_norm = 0;
  for (std::int64_t first = 0; first < step.pinned; first += block_keys) {
    take(step, first, batch);
    gather_logits(step, batch);
    for (int i = 0; i < batch.count; ++i)
      key_norm = std::max(key_norm, norm_of(step, batch.rows + i * shape.head_dim * size_of(shape.dtype),
                                            shape.head_dim, wide));
    for (int r = 0; r < step.rows; ++r) {
      StepRow& row = step.row[static_cast<std::size_t>(r)];
      for (int i = 0; i < batch.count; ++i) {
        const float logit = batch.logits[r * block_keys + i];
        step.pinned_weight[r * step.pinned + first + i] = logit;
        if (batch.token[static_cast<std::size_t>(i)] < row.seen)
          row.reference = std::max(row.reference, static_cast<double>(logit));
        if (!std::isfinite(logit)) step.reads[last].failed = true;
      }
    }
  }
  for (int r = 0; r < step.rows; ++r) {
    double& reference = step.row[static_cast<std::size_t>(r)].reference;
    reference = std::isfinite(reference) ? std::round(reference) : 0.0;
  }
  for (std::int64_t first = 0; first < step.pinned; first += block_keys) {
    take(step, first, batch);
    for (int r = 0; r < step.rows; ++r) {
      const StepRow& row = step.row[static_cast<std::size_t>(r)];
      float* weights = batch.logits + r * block_keys;
      std::copy_n(step.pinned_weight + r * step.pinned + first, batch.count, weights);
      step.call->kernels.weigh(weights, batch.count, static_cast<float>(row.reference));
      for (int i = 0; i < batch.count; ++i) {
        if (batch.token[static_cast<std::size_t>(i)] >= row.seen) weights[i] = 0.0F;
        step.sums(last, r).used += static_cast<double>(weights[i]);
      }
      std::copy_n(weights, batch.count, step.pinned_weight + r * step.pinned + first);
    }
    gather_values(step, batch, last);
    for (int i = 0; i < batch.count; ++i)
      value_norm = std::max(
          value_norm,
          norm_of(step, batch.rows + i * shape.value_dim * size_of(shape.dtype), shape.value_dim, wide));
  }
  for (int r = 0; r < step.rows; ++r) {
    SpanRow& sums = step.sums(last, r);
    const double logit = step.row[static_cast<std::size_t>(r)].query_norm * key_norm;
    // Octaves: the dot product, the difference to the reference, the exponential; underflow of q·factor.
    const double octaves = unit_roundoff * ((chain + 3) * logit + 132 +
                                            2 * std::abs(step.row[static_cast<std::size_t>(r)].reference)) +
                           0x1p-148 * (d + std::sqrt(d) * key_norm);
    const double rounding = std::expm1(0.6931472 * octaves);
    sums.spread = sums.rounding = sums.used * rounding;
    sums.product = sums.spread * value_norm;  // a ≤ ‖v‖ + ‖out‖; certify adds the second part
    sums.expected = sums.used;
  }
  step.pinned_norm = value_norm;
}

}  // namespace tamis
