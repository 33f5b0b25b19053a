// Dense attention of a few queries per KV head: K and V are read once, at the speed of memory.
// The keys of a head are cut into spans of 1024; each (head, span) is an item that leaves a softmax
// state, and the states are merged in order. Spans do not depend on the number of threads.
#include <algorithm>
#include <limits>

#include "attention/check.h"
#include "attention/dense.h"
#include "attention/softmax_state.h"
#include "attention/workspace.h"
#include "core/parallel.h"

namespace tamis {
namespace {

constexpr std::int64_t span_pages = 8;
constexpr std::int64_t span_keys = span_pages * page_tokens;

/// Where things are for one call; sizes in floats.
struct Plan {
  std::int64_t rows;      // per KV head: queries of its group of heads
  std::int64_t q_stride;  // padded head size
  std::int64_t o_stride;  // padded value size
  std::int64_t spans;     // per KV head, the most that any head has
  std::int64_t state;     // one span's state: rows · (o_stride + 2)

  [[nodiscard]] std::int64_t worker() const { return rows * (page_keys + o_stride); }
};

void scale_queries(const DenseCall& call, const Plan& plan, float* scaled) {
  for (std::int64_t h = 0; h < call.shape.kv_heads; ++h)
    for (std::int64_t r = 0; r < plan.rows; ++r) {
      float* to = scaled + (h * plan.rows + r) * plan.q_stride;
      const auto from = call.q.row(row_of(call.shape, h, r).index);
      std::fill(to, to + plan.q_stride, 0.0F);
      for (std::size_t c = 0; c < from.size(); ++c)
        to[place(call.kernels, call.type, static_cast<std::int64_t>(c))] = from[c] * call.factor;
    }
}

/// The states of one item: m, l and o of each row, in memory of its own.
struct Part {
  float* m;
  float* l;
  float* o;
};
Part part_at(const Plan& plan, float* partial, std::int64_t item) {
  float* at = partial + item * plan.state;
  return {at + plan.rows * plan.o_stride, at + plan.rows * (plan.o_stride + 1), at};
}

/// What to prefetch of a page: its rows as one stretch, or none of it if others' rows lie between them.
/// `from` is an address in use even then: the kernels prefetch it without looking at `bytes`.
struct Stretch {
  const void* from;
  std::int64_t bytes;
};
Stretch stretch(const void* page, std::int64_t keys, std::int64_t dim, std::int64_t stride, DType dtype) {
  return {page, stride == dim ? keys * dim * size_of(dtype) : 0};
}

/// Turns a page's logits into weights and returns by how much what came before shrinks.
float weigh_row(const Kernels& kernels, float* s, std::int64_t seen, std::int64_t keys, float& m,
                float& l) {
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
                 const float* scaled, float* scratch, const Part& part) {
  const Shape& shape = call.shape;
  const KvPages& kv = call.kv[static_cast<std::size_t>(kv_head)];
  const auto rows = static_cast<int>(plan.rows);
  const auto d = static_cast<int>(shape.head_dim);
  const auto d_v = static_cast<int>(shape.value_dim);
  float* weights = scratch;
  float* page_sum = scratch + plan.rows * page_keys;

  std::fill(part.m, part.m + plan.rows, -std::numeric_limits<float>::infinity());
  std::fill(part.l, part.l + plan.rows, 0.0F);
  std::fill(part.o, part.o + plan.rows * plan.o_stride, 0.0F);

  std::int64_t most = 0;  // keys that some row sees
  for (std::int64_t i = 0; i < shape.queries; ++i) most = std::max(most, keys_seen(call.seen, i, kv));

  const std::int64_t end = std::min(most, (span + 1) * span_keys);
  for (std::int64_t first = span * span_keys; first < end; first += page_tokens) {
    const auto page = static_cast<std::size_t>(first / page_tokens);
    const std::int64_t keys = std::min(page_tokens, end - first);
    // While K is used V comes in, and while V is used the next page's K does.
    const std::int64_t next = std::clamp<std::int64_t>(most - first - page_tokens, 0, page_tokens);
    const Stretch v_ahead = stretch(kv.v[page], keys, d_v, kv.v_stride, shape.dtype);
    const Stretch k_ahead =
        stretch(next > 0 ? kv.k[page + 1] : kv.k[page], next, d, kv.k_stride, shape.dtype);
    call.kernels.logits[call.type](scaled, plan.q_stride, rows, kv.k[page], kv.k_stride,
                                   static_cast<int>(keys), d, weights, page_keys, v_ahead.from,
                                   v_ahead.bytes);
    float shrink[decode_rows];
    for (std::int64_t r = 0; r < plan.rows; ++r) {
      const std::int64_t sees = keys_seen(call.seen, row_of(shape, kv_head, r).query, kv) - first;
      shrink[r] = weigh_row(call.kernels, weights + r * page_keys, std::min(sees, keys), keys, part.m[r],
                            part.l[r]);
    }
    call.kernels.combine[call.type](weights, page_keys, rows, kv.v[page], kv.v_stride,
                                    static_cast<int>(keys), d_v, page_sum, plan.o_stride, k_ahead.from,
                                    k_ahead.bytes);
    for (std::int64_t r = 0; r < plan.rows; ++r)
      call.kernels.scale_add(part.o + r * plan.o_stride, shrink[r], page_sum + r * plan.o_stride,
                             static_cast<int>(plan.o_stride));
  }
}

}  // namespace

void decode(const DenseCall& call, Workspace::Impl& workspace, const SoftmaxStates& states) {
  const Shape& shape = call.shape;
  Plan plan{};
  plan.rows = shape.group() * shape.queries;
  plan.q_stride = round_up(shape.head_dim, call.kernels.pad);
  plan.o_stride = round_up(shape.value_dim, call.kernels.pad);
  plan.state = plan.rows * (plan.o_stride + 2);
  plan.spans = 1;
  for (const KvPages& kv : call.kv)
    plan.spans = std::max(plan.spans, (kv.tokens + span_keys - 1) / span_keys);

  float* scaled = workspace.queries.get(shape.kv_heads * plan.rows * plan.q_stride);
  float* partial = workspace.partial.get(shape.kv_heads * plan.spans * plan.state);
  for (Scratch& worker : workspace.worker) worker.get(plan.worker());
  scale_queries(call, plan, scaled);

  parallel_for(shape.kv_heads * plan.spans, workspace.crew(), [&](std::int64_t item, int worker) {
    const std::int64_t head = item / plan.spans;
    attend_span(call, plan, head, item % plan.spans, scaled + head * plan.rows * plan.q_stride,
                workspace.worker[static_cast<std::size_t>(worker)].get(plan.worker()),
                part_at(plan, partial, item));
  });

  for (std::int64_t h = 0; h < shape.kv_heads; ++h)
    for (std::int64_t r = 0; r < plan.rows; ++r) {
      const std::int64_t i = row_of(shape, h, r).index;
      const Part whole = part_at(plan, partial, h * plan.spans);
      const std::span<float> whole_o(whole.o + r * plan.o_stride, static_cast<std::size_t>(plan.o_stride));
      for (std::int64_t span = 1; span < plan.spans; ++span) {
        const Part part = part_at(plan, partial, h * plan.spans + span);
        merge_row(whole.m[r], whole.l[r], whole_o, part.m[r], part.l[r],
                  {part.o + r * plan.o_stride, whole_o.size()});
      }
      states.m[static_cast<std::size_t>(i)] = whole.m[r];
      states.l[static_cast<std::size_t>(i)] = whole.l[r];
      const auto o = states.o.row(i);
      for (std::size_t c = 0; c < o.size(); ++c)
        o[c] =
            whole_o[static_cast<std::size_t>(place(call.kernels, call.type, static_cast<std::int64_t>(c)))];
    }
}

}  // namespace tamis
