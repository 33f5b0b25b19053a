// The last reading after a direct scan: every key of a span has an estimate, and a few of them are worth an
// exact key or a value. These are listed for the whole span; sums of blocks stand for the rest, and are
// corrected for each key that is read exactly. Costs as in gather.cpp.
#include <algorithm>
#include <cmath>

#include "sieve/gathered.h"
#include "sieve/select_parts.h"

namespace tamis {
namespace {

constexpr std::int64_t span_keys = span_blocks * block_keys;
/// Room for all keys of a span, and for what `pick` writes beyond the last.
constexpr std::int64_t listed_stride = span_keys + 32;
using SpanMask = std::array<std::uint32_t, span_keys / 32>;

/// The keys of a span that are read further, block after block.
struct SpanList {
  std::array<std::uint8_t, listed_stride> key;  ///< in their blocks
  std::array<int, span_blocks + 1> first;       ///< of each block; the last is how many there are
  float* weight;                                ///< rows of listed_stride: estimates, then what is used
  float* delta;
  float* share;                  ///< rows of 128: what the centroid of each block stands for
  float *low, *size, *residual;  ///< of coded values
  SpanMask exact{}, whole{}, valued{};

  [[nodiscard]] int count() const { return first[span_blocks]; }
};

struct Place {
  int at;     // in the list
  int block;  // in the span
};

template <class Body>
void for_each_marked(const SpanMask& mask, int n, Body body) {
  for (int word = 0; 32 * word < n; ++word)
    for (std::uint32_t bits = mask[static_cast<std::size_t>(word)]; bits != 0; bits &= bits - 1)
      body(32 * word + std::countr_zero(bits));
}
std::int64_t marked_in(const SpanMask& mask, int n) {
  std::int64_t count = 0;
  for (int word = 0; 32 * word < n; ++word) count += std::popcount(mask[static_cast<std::size_t>(word)]);
  return count;
}

/// Into the second cache: what is read later in this span, in hundreds of lines.
void prefetch_far(const void* row, std::int64_t bytes) {
  const auto* first = static_cast<const std::byte*>(row);
  const auto* line = first - reinterpret_cast<std::uintptr_t>(row) % 64;
  for (; line < first + bytes; line += 64) __builtin_prefetch(line, 0, 2);
}

/// The weights above which the keys of each block are listed, and the blocks that have such keys.
struct SpanLimits {
  std::array<std::array<float, sieve_rows>, span_blocks> of;
  std::array<bool, span_blocks> any{};
};
SpanLimits find_limits(const Step& step, std::int64_t span, bool codes) {
  SpanLimits limits;
  for (std::int64_t block = span * span_blocks; block < step.span_end(span); ++block) {
    const auto b = static_cast<std::size_t>(block % span_blocks);
    for (int r = 0; r < step.rows; ++r) {
      const StepRow& row = step.row[static_cast<std::size_t>(r)];
      const BlockRow& at = step.at(block, r);
      float& limit = limits.of[b][static_cast<std::size_t>(r)];
      limit = threshold(std::min(row.valued, row.exact / static_cast<double>(at.psi)));
      limits.any[b] = limits.any[b] || at.most > limit;
    }
    if (!codes || !limits.any[b]) continue;
    const auto middle = step.index->middle_block(step.head, block);
    prefetch_far(middle.value_norms(), block_keys);
    prefetch_far(middle.value_low(), block_keys * size_of(DType::bf16));
    prefetch_far(middle.value_step(), block_keys * size_of(DType::bf16));
  }
  return limits;
}

/// Keys of a block that some row may see and that are not pinned.
std::int64_t estimated_keys(const Step& step, std::int64_t block) {
  const auto coarse = step.index->coarse_block(step.head, block);
  const std::int64_t seen = std::min(block_keys, step.keys - block * block_keys);
  return coarse.head().pinned == 0 ? seen
                                   : seen - std::count(coarse.norms(), coarse.norms() + seen, pinned_code);
}

/// Lists the keys of the span, with the sums of all others.
void list_keys(Step& step, std::int64_t span, bool codes, SpanList& list) {
  const SpanLimits limits = find_limits(step, span, codes);
  SpanReads& reads = step.reads[span];
  int n = 0;
  for (std::int64_t b = 0; b < span_blocks; ++b) {
    list.first[static_cast<std::size_t>(b)] = n;
    const std::int64_t block = span * span_blocks + b;
    if (block >= step.span_end(span)) continue;
    const BlockHead& head = step.index->coarse_block(step.head, block).head();
    reads.middle_keys += estimated_keys(step, block);
    std::array<float, sieve_rows> rest;
    for (int r = 0; r < step.rows; ++r) rest[static_cast<std::size_t>(r)] = step.at(block, r).sum;
    const int before = n;
    if (limits.any[static_cast<std::size_t>(b)]) {
      const auto middle = step.index->middle_block(step.head, block);
      const ValueScales scales{reinterpret_cast<const std::uint16_t*>(middle.value_low()),
                               reinterpret_cast<const std::uint16_t*>(middle.value_step()),
                               middle.value_norms(),
                               head.residual_unit,
                               list.low + n,
                               list.size + n,
                               list.residual + n};
      n += step.call->kernels.sieve.pick(step.bounds(block, 0), step.rows,
                                         limits.of[static_cast<std::size_t>(b)].data(), nullptr, nullptr,
                                         {list.key.data() + n, nullptr, nullptr, list.weight + n,
                                          listed_stride, codes ? &scales : nullptr},
                                         rest.data());
      if (codes) ++reads.scaled_blocks;
      const std::int64_t stride = step.layout->value_stride();
      for (int i = before; codes && i < n; ++i)
        prefetch_far(middle.value_codes() + list.key[static_cast<std::size_t>(i)] * stride, stride);
    }
    for (int r = 0; r < step.rows; ++r) {
      BlockRow& at = step.at(block, r);
      SpanRow& sums = step.sums(span, r);
      const auto sum = static_cast<double>(at.sum);
      const double spread = static_cast<double>(at.psi) * sum;
      sums.used += sum;
      sums.spread += spread;
      // Keys without a value stand at the centroid: r = radius. A value that was read is within the radius
      // of it. Coded values add their own residuals.
      sums.product += head.radius * (static_cast<double>(rest[static_cast<std::size_t>(r)]) + spread);
      at.spread = static_cast<float>(spread * (1 + 0x1p-20));
      list.share[r * block_keys + b] = at.sum;
      const float psi = at.psi * (1 + 0x1p-22F);
      const float* weight = list.weight + r * listed_stride;
      float* delta = list.delta + r * listed_stride;
      for (int i = before; i < n; ++i) delta[i] = weight[i] * psi;
    }
  }
  list.first[span_blocks] = n;
  for (int r = 0; r < step.rows; ++r)
    std::fill_n(list.delta + r * listed_stride + n, 16, 0.0F);  // weights end with zeros already
}

/// Which of the listed keys are read exactly, and at which mesh their values. Returns whether all of them
/// are listed for their values.
bool mark_keys(const Step& step, std::int64_t span, const Prices& price, SpanList& list) {
  const int n = list.count();
  double missing = 0;
  for (std::int64_t block = span * span_blocks; block < step.span_end(span); ++block)
    missing = std::max(missing, static_cast<double>(residual_share(step, block)));
  bool by_value = true;
  const bool codes = coded_values(step, price);
  for (int r = 0; r < step.rows; ++r) {
    const StepRow& row = row_of(step, r);
    float widest = 0;
    for (std::int64_t block = span * span_blocks; block < step.span_end(span); ++block)
      widest = std::max(widest, step.at(block, r).psi);
    by_value = by_value && row.exact >= row.valued * static_cast<double>(widest);
    const float* weight = list.weight + r * listed_stride;
    const auto& kernels = step.call->kernels.sieve;
    if (std::isfinite(row.exact))
      kernels.mark_above(list.delta + r * listed_stride, n, threshold(row.exact), list.exact.data());
    const double ratio = static_cast<double>(price.value_ratio()) / std::max(missing, 1e-6);
    if (codes) kernels.mark_above(weight, n, threshold(row.valued * ratio), list.whole.data());
  }
  if (by_value) {
    for (int i = 0; i < n; i += 32)
      list.valued[static_cast<std::size_t>(i / 32)] = n - i < 32 ? (1U << (n - i)) - 1 : ~0U;
  } else {
    for (int r = 0; r < step.rows; ++r)
      step.call->kernels.sieve.mark_above(list.weight + r * listed_stride, n,
                                          threshold(row_of(step, r).valued), list.valued.data());
  }
  if (!codes) list.whole = list.valued;
  return by_value;
}

/// The rows of K and V that are read exactly.
void prefetch_exact(const Step& step, std::int64_t span, const SpanList& list) {
  const KvPages& kv = step.kv();
  const Shape& shape = step.call->shape;
  const std::int64_t element = size_of(shape.dtype);
  for (std::size_t b = 0; b < span_blocks; ++b) {
    const std::int64_t first = (span * span_blocks + static_cast<std::int64_t>(b)) * block_keys;
    for (int i = list.first[b]; i < list.first[b + 1]; ++i) {
      const std::int64_t token = first + list.key[static_cast<std::size_t>(i)];
      if (bit_of(list.exact, i))
        prefetch_far(row_at(kv.k, kv.k_stride, token, element), shape.head_dim * element);
      if (bit_of(list.whole, i))
        prefetch_far(row_at(kv.v, kv.v_stride, token, element), shape.value_dim * element);
    }
  }
}

/// Calls flush for batches of the marked keys.
template <class Flush>
void for_batches(const SpanMask& mask, std::int64_t span, const SpanList& list, Gathered& batch,
                 std::array<Place, block_keys>& place, Flush flush) {
  batch.count = 0;
  int block = 0;
  for_each_marked(mask, list.count(), [&](int i) {
    while (list.first[static_cast<std::size_t>(block + 1)] <= i) ++block;
    const auto at = static_cast<std::size_t>(batch.count);
    batch.token[at] = (span * span_blocks + block) * block_keys + list.key[static_cast<std::size_t>(i)];
    place[at] = {i, block};
    if (++batch.count < block_keys) return;
    flush();
    batch.count = 0;
  });
  if (batch.count > 0) flush();
}

/// Exact weights in place of estimates.
void settle_keys(Step& step, std::int64_t span, SpanList& list, const Gathered& batch,
                 const std::array<Place, block_keys>& place) {
  gather_logits(step, batch);
  for (int r = 0; r < step.rows; ++r) {
    const StepRow& row = step.row[static_cast<std::size_t>(r)];
    SpanRow& sums = step.sums(span, r);
    const float* weights = weigh_gathered(step, span, batch, r);
    for (int i = 0; i < batch.count; ++i) {
      const Place& at = place[static_cast<std::size_t>(i)];
      const std::int64_t block = span * span_blocks + at.block;
      BlockRow& b = step.at(block, r);
      float& weight = list.weight[r * listed_stride + at.at];
      float& delta = list.delta[r * listed_stride + at.at];
      const float exact = batch.token[static_cast<std::size_t>(i)] < row.seen ? weights[i] : 0.0F;
      const float rounding = exact * b.rounding;
      const double more = static_cast<double>(exact) - static_cast<double>(weight);
      // What is taken away was rounded up when it was added; a little of it stays.
      const double less = static_cast<double>(rounding) - static_cast<double>(delta) * (1 - 0x1p-16);
      const double radius = step.index->coarse_block(step.head, block).head().radius;
      sums.used += more;
      sums.spread += less;
      sums.product += radius * less;
      b.spread = std::max(static_cast<float>(b.spread + less), rounding) * (1 + 0x1p-20F);
      list.share[r * block_keys + at.block] += static_cast<float>(more);
      if (step.options->weights.rows > 0)
        step.bounds(block, r)[list.key[static_cast<std::size_t>(at.at)]] = exact;
      weight = exact;
      delta = rounding;
    }
  }
}

/// Values that are read exactly leave the share of their centroid.
void add_exact_values(Step& step, std::int64_t span, SpanList& list, const Gathered& batch,
                      const std::array<Place, block_keys>& place) {
  for (int i = 0; i < batch.count; ++i) {
    const Place& at = place[static_cast<std::size_t>(i)];
    for (int r = 0; r < step.rows; ++r) {  // the inner loop, whose sums do not wait for each other
      const float weight = list.weight[r * listed_stride + at.at];
      batch.logits[r * block_keys + i] = weight;
      list.share[r * block_keys + at.block] -= weight;
    }
  }
  gather_values(step, batch, span);
}

/// Keys that were listed for themselves alone keep their centroid.
void add_valueless(Step& step, std::int64_t span, const SpanList& list) {
  int block = 0;
  for (int i = 0; i < list.count(); ++i) {
    while (list.first[static_cast<std::size_t>(block + 1)] <= i) ++block;
    if (bit_of(list.valued, i)) continue;
    const double radius = step.index->coarse_block(step.head, span * span_blocks + block).head().radius;
    for (int r = 0; r < step.rows; ++r)
      step.sums(span, r).product += radius * static_cast<double>(list.weight[r * listed_stride + i]);
  }
}

/// The 4-bit values: weighted codes into the span's sums. Those that are not read as codes weigh nothing.
void add_coded_values(Step& step, std::int64_t span, SpanList& list, bool by_value, float* p) {
  const Layout& layout = *step.layout;
  const SieveKernels& kernels = step.call->kernels.sieve;
  const int n = list.count();
  const auto leave_out = [&](int i) { list.low[i] = list.size[i] = list.residual[i] = 0.0F; };
  for_each_marked(list.whole, n, leave_out);
  for (int i = 0; !by_value && i < n; ++i)
    if (!bit_of(list.valued, i)) leave_out(i);
  for (int i = n; i % 16 != 0; ++i) leave_out(i);
  for (int r = 0; r < step.rows; ++r) {
    SpanRow& sums = step.sums(span, r);
    for (int i = 0; i < n; i += static_cast<int>(block_keys)) {
      const CodedSums add =
          kernels.weigh_codes(list.weight + r * listed_stride + i, list.delta + r * listed_stride + i,
                              list.size + i, list.low + i, list.residual + i,
                              std::min(static_cast<int>(block_keys), n - i), p + r * listed_stride + i);
      sums.low += add.low;
      // More than what the kernel, and the residuals before it, may have rounded down.
      sums.product += static_cast<double>(add.product) * (1 + 0x1p-16) + 0x1p-139;
    }
  }
  for (int b = 0; b < span_blocks; ++b) {
    const int first = list.first[static_cast<std::size_t>(b)];
    const int count = list.first[static_cast<std::size_t>(b + 1)] - first;
    if (count == 0) continue;
    const auto middle = step.index->middle_block(step.head, span * span_blocks + b);
    kernels.combine_codes(p + first, listed_stride, step.rows,
                          {middle.value_codes(), list.key.data() + first, count}, layout.value_stride(),
                          layout.value_d32, step.coded_sum(span, 0), layout.value_d32 + step.o_stride);
  }
}

}  // namespace

std::int64_t direct_scratch(const Layout& layout, int rows) {
  return 3 * (rows + 1) * listed_stride + rows * block_keys + (span_blocks + rows) * layout.value_d32;
}

void gather_direct(Step& step, std::int64_t span, float* scratch) {
  const Layout& layout = *step.layout;
  const std::int64_t start = span * span_blocks;
  for (int r = 0; r < step.rows; ++r) {
    SpanRow& sums = step.sums(span, r);
    sums.used = sums.spread = sums.rounding = sums.product = 0;
    sums.low = 0.0F;
    std::fill_n(step.coded_sum(span, r), layout.value_d32 + step.o_stride, 0.0F);
  }
  SpanReads& reads = step.reads[span];
  reads.middle_keys = reads.exact_keys = reads.middle_values = reads.exact_values = 0;
  reads.scaled_blocks = 0;
  Gathered batch = gathered_in(step, scratch);
  float* room =
      scratch + step_scratch(layout, step.rows, step.o_stride) - direct_scratch(layout, step.rows);
  SpanList list;
  list.weight = room;
  list.delta = list.weight + step.rows * listed_stride;
  float* p = list.delta + step.rows * listed_stride;
  list.low = p + step.rows * listed_stride;
  list.size = list.low + listed_stride;
  list.residual = list.size + listed_stride;
  list.share = list.residual + listed_stride;
  float* centroids = list.share + step.rows * block_keys;
  const Prices price(step);
  const bool codes = coded_values(step, price);
  for (std::int64_t block = start; block < step.span_end(span); ++block)
    prefetch_far(step.index->coarse_block(step.head, block).centroid(),
                 layout.value_d32 * size_of(DType::bf16));
  list_keys(step, span, codes, list);
  const int n = list.count();
  bool by_value = true;
  if (n > 0) {
    by_value = mark_keys(step, span, price, list);
    prefetch_exact(step, span, list);
    reads.exact_keys = marked_in(list.exact, n);
    reads.exact_values = marked_in(list.whole, n);
    reads.middle_values = codes ? marked_in(list.valued, n) - reads.exact_values : 0;
    std::array<Place, block_keys> place;
    for_batches(list.exact, span, list, batch, place, [&] { settle_keys(step, span, list, batch, place); });
    for_batches(list.whole, span, list, batch, place,
                [&] { add_exact_values(step, span, list, batch, place); });
    if (!by_value) add_valueless(step, span, list);
  }
  if (n > 0 && codes) add_coded_values(step, span, list, by_value, p);
  for (std::int64_t block = start; block < step.span_end(span); ++block)
    step.call->kernels.widen[kv_bf16](step.index->coarse_block(step.head, block).centroid(),
                                      centroids + (block - start) * layout.value_d32, layout.value_d32);
  float* centroid_sum = centroids + span_blocks * layout.value_d32;
  combine_centroids(step, span, list.share, centroids, centroid_sum);
  add_centroids(step, span, centroid_sum);
}

}  // namespace tamis
