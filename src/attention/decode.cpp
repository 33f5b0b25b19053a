// Dense attention of a few queries per KV head. K and V are read once, at the speed of memory. The
// keys of a head are divided into spans of 1024. Each (head, span) is an item that produces a
// softmax state, and the states are merged in order. Spans do not depend on the number of threads.
#include <algorithm>
#include <limits>

#include "attention/check.h"
#include "attention/few_rows.h"
#include "attention/softmax_state.h"
#include "attention/workspace.h"
#include "core/parallel.h"

namespace tamis::attention {
namespace {

/// How one call is divided.
struct Plan {
  FewRows few;
  std::int64_t spans;  // per KV head, the maximum over the heads
};

Stretch stretch(const void* page, std::int64_t keys, std::int64_t dim, std::int64_t stride,
                DType dtype) {
  return {page, stride == dim ? keys * dim * size_of(dtype) : 0};
}

/// Turns a page's logits into weights and returns the factor by which earlier sums must shrink.
float weigh_row(const kernels::Kernels& kernels, float* s, std::int64_t seen, std::int64_t keys,
                float& m, float& l) {
  if (seen < keys) std::fill(s + std::max<std::int64_t>(seen, 0), s + keys, 0.0F);
  if (seen <= 0) return 1.0F;
  const float top = std::max(m, kernels.maximum(s, static_cast<int>(seen)));
  float shrink = 1.0F;
  if (top != m) {  // exp2(0) is exactly 1, so skipping it changes no bit
    shrink = m - top;
    kernels.exp2(&shrink, 1);
  }
  l = l * shrink + kernels.weigh(s, static_cast<int>(seen), top);
  m = top;
  return shrink;
}

void attend_span(const DenseCall& call, const Plan& plan, std::int64_t kv_head, std::int64_t span,
                 const float* scaled, float* scratch, const FewSums& sums) {
  const Shape& shape = call.shape;
  const KvPages& kv = call.kv[static_cast<std::size_t>(kv_head)];
  begin(plan.few, sums);
  std::int64_t most = 0;  // keys that some row sees
  for (std::int64_t i = 0; i < shape.queries; ++i)
    most = std::max(most, keys_seen(call.seen, i, kv));

  const std::int64_t end = std::min(most, (span + 1) * span_keys);
  for (std::int64_t first = span * span_keys; first < end; first += page_tokens) {
    const auto page = static_cast<std::size_t>(first / page_tokens);
    const std::int64_t keys = std::min(page_tokens, end - first);
    const std::int64_t next = std::clamp<std::int64_t>(most - first - page_tokens, 0, page_tokens);
    std::int64_t sees[decode_rows];
    for (std::int64_t r = 0; r < plan.few.rows; ++r)
      sees[r] = keys_seen(call.seen, row_of(shape, kv_head, r).query, kv) - first;
    const void* k_next = next > 0 ? kv.k[page + 1] : kv.k[page];
    add_page(call, plan.few, scaled, {kv.k[page], kv.v[page], kv.k_stride, kv.v_stride, keys}, sees,
             stretch(k_next, next, shape.head_dim, kv.k_stride, shape.dtype), scratch, sums);
  }
}

}  // namespace

FewRows few_rows(const DenseCall& call) {
  const Shape& shape = call.shape;
  return {shape.group() * shape.queries, round_up(shape.head_dim, call.kernels.pad),
          round_up(shape.value_dim, call.kernels.pad)};
}

void scale_queries(const DenseCall& call, const FewRows& few, std::int64_t kv_head, float* scaled) {
  for (std::int64_t r = 0; r < few.rows; ++r) {
    float* to = scaled + r * few.q_stride;
    const auto from = call.q.row(row_of(call.shape, kv_head, r).index);
    std::fill(to, to + few.q_stride, 0.0F);
    for (std::size_t c = 0; c < from.size(); ++c)
      to[kernels::place(call.kernels, call.type, static_cast<std::int64_t>(c))] =
          from[c] * call.factor;
  }
}

FewSums few_sums(const FewRows& few, float* memory) {
  return {memory + few.rows * few.o_stride, memory + few.rows * (few.o_stride + 1), memory};
}

void begin(const FewRows& few, const FewSums& sums) {
  std::fill(sums.m, sums.m + few.rows, -std::numeric_limits<float>::infinity());
  std::fill(sums.l, sums.l + few.rows, 0.0F);
  std::fill(sums.o, sums.o + few.rows * few.o_stride, 0.0F);
}

void add_page(const DenseCall& call, const FewRows& few, const float* scaled, const Page& page,
              const std::int64_t* sees, const Stretch& next, float* scratch, const FewSums& sums) {
  const auto rows = static_cast<int>(few.rows);
  const auto keys = static_cast<int>(page.keys);
  const auto d_v = static_cast<int>(call.shape.value_dim);
  float* weights = scratch;
  float* page_sum = scratch + few.rows * page_tokens;
  // K is used while V is prefetched, and V while the next page's K is.
  const Stretch v_ahead = stretch(page.v, page.keys, d_v, page.v_stride, call.shape.dtype);
  call.kernels.logits[call.type](scaled, few.q_stride, rows, page.k, page.k_stride, keys,
                                 static_cast<int>(call.shape.head_dim), weights, page_tokens,
                                 v_ahead.from, v_ahead.bytes);
  float shrink[decode_rows];
  for (std::int64_t r = 0; r < few.rows; ++r)
    shrink[r] = weigh_row(call.kernels, weights + r * page_tokens, std::min(sees[r], page.keys),
                          page.keys, sums.m[r], sums.l[r]);
  call.kernels.combine[call.type](weights, page_tokens, rows, page.v, page.v_stride, keys, d_v,
                                  page_sum, few.o_stride, next.from, next.bytes);
  for (std::int64_t r = 0; r < few.rows; ++r)
    call.kernels.scale_add(sums.o + r * few.o_stride, shrink[r], page_sum + r * few.o_stride,
                           static_cast<int>(few.o_stride));
}

void merge(const FewRows& few, const FewSums& into, const FewSums& from) {
  for (std::int64_t r = 0; r < few.rows; ++r) {
    const auto width = static_cast<std::size_t>(few.o_stride);
    merge_row(into.m[r], into.l[r], {into.o + r * few.o_stride, width}, from.m[r], from.l[r],
              {from.o + r * few.o_stride, width});
  }
}

void hand_out(const DenseCall& call, const FewRows& few, std::int64_t kv_head, const FewSums& sums,
              const SoftmaxStates& states) {
  for (std::int64_t r = 0; r < few.rows; ++r) {
    const std::int64_t i = row_of(call.shape, kv_head, r).index;
    states.m[static_cast<std::size_t>(i)] = sums.m[r];
    states.l[static_cast<std::size_t>(i)] = sums.l[r];
    const auto o = states.o.row(i);
    for (std::size_t c = 0; c < o.size(); ++c)
      o[c] = sums.o[r * few.o_stride +
                    kernels::place(call.kernels, call.type, static_cast<std::int64_t>(c))];
  }
}

void decode(const DenseCall& call, Workspace::Impl& workspace, const SoftmaxStates& states) {
  const Shape& shape = call.shape;
  Plan plan{few_rows(call), 1};
  const FewRows& few = plan.few;
  for (const KvPages& kv : call.kv)
    plan.spans = std::max(plan.spans, (kv.tokens + span_keys - 1) / span_keys);

  float* scaled = workspace.queries.get(shape.kv_heads * few.query_floats());
  float* partial = workspace.partial.get(shape.kv_heads * plan.spans * few.sum_floats());
  for (Scratch& worker : workspace.worker) worker.get(few.page_floats());
  for (std::int64_t h = 0; h < shape.kv_heads; ++h)
    scale_queries(call, few, h, scaled + h * few.query_floats());

  core::parallel_for(
      shape.kv_heads * plan.spans, workspace.crew(), [&](std::int64_t item, int worker) {
        const std::int64_t head = item / plan.spans;
        attend_span(call, plan, head, item % plan.spans, scaled + head * few.query_floats(),
                    workspace.worker[static_cast<std::size_t>(worker)].get(few.page_floats()),
                    few_sums(few, partial + item * few.sum_floats()));
      });

  for (std::int64_t h = 0; h < shape.kv_heads; ++h) {
    float* of_head = partial + h * plan.spans * few.sum_floats();
    const FewSums whole = few_sums(few, of_head);
    for (std::int64_t span = 1; span < plan.spans; ++span)
      merge(few, whole, few_sums(few, of_head + span * few.sum_floats()));
    hand_out(call, few, h, whole, states);
  }
}

}  // namespace tamis::attention
