// Computes the figures of every row of a call. Tiles of queries are multiplied with pages of keys
// as in prefill, then each row is measured. A work item is a few tiles of one KV head, for which
// each page is widened to f32 once; only their logits, one float per row and key, are kept.
#include <algorithm>
#include <atomic>

#include <tamis/lab/rows.h>

#include "attention/check.h"
#include "attention/dense.h"
#include "attention/workspace.h"
#include "core/fail.h"
#include "core/parallel.h"
#include "lab/kernels/kernels.h"
#include "lab/profile/row.h"

namespace tamis::lab {
namespace {

/// The number of logits that the tiles of one item may have together; more would not stay in the
/// CPU cache until they are measured.
constexpr std::int64_t item_floats = std::int64_t{1} << 19;
// Widening a page for one tile alone would take a tenth of the time.
constexpr std::int64_t fewest_tiles = 2;
constexpr std::int64_t most_tiles = 4;
/// Positions in a row are stored in 32 bits.
constexpr std::int64_t most_keys = std::int64_t{1} << 30;

struct Plan {
  std::int64_t rows;    // rows per KV head, query-major as in prefill
  std::int64_t tile;    // rows per tile
  std::int64_t tiles;   // tiles per item
  std::int64_t items;   // items per KV head
  std::int64_t stride;  // floats from one row's logits to the next
  std::int64_t query_floats;
  std::int64_t page_floats;
  std::int64_t logit_floats;  // logits of one tile and one page
  std::int64_t row_floats;

  [[nodiscard]] std::int64_t worker_floats() const {
    return tiles * (query_floats + tile * stride) + page_floats + logit_floats + row_floats;
  }
};

Plan plan_for(const attention::DenseCall& call, std::int64_t longest) {
  Plan plan{};
  plan.rows = call.shape.group() * call.shape.queries;
  plan.tile = call.kernels.tile;
  // Rows a power of two apart would compete for the same cache lines.
  plan.stride = attention::round_up(longest, 32) + 32;
  plan.tiles = std::clamp(item_floats / (plan.tile * plan.stride), fewest_tiles, most_tiles);
  plan.items = (plan.rows + plan.tile * plan.tiles - 1) / (plan.tile * plan.tiles);
  plan.query_floats = attention::round_up(plan.tile * call.shape.head_dim, 16);
  plan.page_floats = attention::round_up(tamis::page_tokens * call.shape.head_dim, 16);
  plan.logit_floats = attention::round_up(plan.tile * tamis::page_tokens, 16);
  plan.row_floats = profiling::RowScratch::floats(longest);
  return plan;
}

/// Writes the keys of a page to `out` as contiguous floats.
void widen_page(const attention::DenseCall& call, const KvPages& kv, std::int64_t page,
                std::int64_t keys, float* out) {
  const std::int64_t d = call.shape.head_dim;
  const auto* bytes = static_cast<const char*>(kv.k[page]);
  if (kv.k_stride == d) {
    call.kernels.widen[call.type](bytes, out, keys * d);
  } else {
    for (std::int64_t j = 0; j < keys; ++j)
      call.kernels.widen[call.type](bytes + j * kv.k_stride * size_of(call.shape.dtype),
                                    out + j * d, d);
  }
}

void measure_item(const attention::DenseCall& call, const Plan& plan, const RowOptions& options,
                  std::int64_t kv_head, std::int64_t item, float* scratch, RowFigures& figures) {
  const Shape& shape = call.shape;
  const KvPages& kv = call.kv[static_cast<std::size_t>(kv_head)];
  const std::int64_t first_row = item * plan.tiles * plan.tile;
  const std::int64_t rows = std::min(plan.tiles * plan.tile, plan.rows - first_row);
  const std::int64_t count = (rows + plan.tile - 1) / plan.tile;
  float* queries = scratch;
  float* logits = queries + plan.tiles * plan.query_floats;
  float* page_keys_f32 = logits + plan.tiles * plan.tile * plan.stride;
  float* tile_logits = page_keys_f32 + plan.page_floats;
  const profiling::RowScratch row_scratch =
      profiling::RowScratch::in(tile_logits + plan.logit_floats, plan.stride - 32);

  std::int64_t most[most_tiles] = {};
  std::fill(queries, logits, 0.0F);
  for (std::int64_t r = 0; r < rows; ++r) {
    const std::int64_t t = r / plan.tile;
    const attention::Row row = attention::row_of(shape, kv_head, first_row + r);
    float* q = queries + t * plan.query_floats + r % plan.tile;
    for (std::int64_t c = 0; c < shape.head_dim; ++c)
      q[c * plan.tile] = call.q(row.index, c) * call.factor;
    most[t] = std::max(most[t], attention::keys_seen(call.seen, row.query, kv));
  }

  const std::int64_t longest = *std::max_element(most, most + count);
  for (std::int64_t first = 0; first < longest; first += page_tokens) {
    const std::int64_t keys = std::min(page_tokens, longest - first);
    widen_page(call, kv, first / page_tokens, keys, page_keys_f32);
    for (std::int64_t t = 0; t < count; ++t) {
      if (most[t] <= first) continue;
      call.kernels.tile_logits(queries + t * plan.query_floats, page_keys_f32, shape.head_dim,
                               static_cast<int>(keys), static_cast<int>(shape.head_dim),
                               tile_logits);
      kernels::lab_kernels().rows.untile(tile_logits, static_cast<int>(keys),
                                         logits + t * plan.tile * plan.stride + first, plan.stride);
    }
  }

  for (std::int64_t r = 0; r < rows; ++r) {
    const attention::Row row = attention::row_of(shape, kv_head, first_row + r);
    const std::int64_t n = attention::keys_seen(call.seen, row.query, kv);
    if (n == 0) continue;
    if (!profiling::measure_row(kernels::lab_kernels().rows, logits + r * plan.stride, n, options,
                                figures.grid, row_scratch,
                                profiling::result_of(figures, row.index)))
      core::fail(Code::input,
                 "query {} of head {}: a logit over the {} keys it sees is not finite (NaN, "
                 "infinity or an overflow of f32 in q or k)",
                 row.query, row.index / shape.queries, n);
  }
}

/// Reports progress to the caller, on the calling thread (worker 0) only.
class Report {
 public:
  Report(const ProgressCallback& callback, std::int64_t items)
      : callback_(callback), items_(items) {}
  void item_done(int worker) {
    const std::int64_t done = ++done_;
    if (worker == 0) tell(done);
  }
  void tell(std::int64_t done) const {
    if (callback_ && !callback_(static_cast<double>(done), static_cast<double>(items_)))
      core::fail(Code::cancelled, "the profile was cancelled after {} of {} parts", done, items_);
  }

 private:
  const ProgressCallback& callback_;
  std::int64_t items_;
  std::atomic<std::int64_t> done_{0};
};

}  // namespace

RowFigures row_figures(const Shape& shape, View<const float> q, std::span<const KvPages> kv,
                       std::span<const std::int64_t> seen, const RowOptions& options,
                       Workspace& workspace, const ProgressCallback& progress) {
  profiling::check_row_options(options);
  Shape keys_only = shape;
  keys_only.value_dim = shape.head_dim;
  std::vector<KvPages> keys(kv.begin(), kv.end());
  for (KvPages& head : keys) {
    head.v = head.k;
    head.v_stride = head.k_stride;
  }
  attention::check_arguments(keys_only, q, keys, seen);
  std::int64_t longest = 0;
  for (const KvPages& head : keys)
    for (std::int64_t i = 0; i < shape.queries; ++i)
      longest = std::max(longest, attention::keys_seen(seen, i, head));
  if (longest > most_keys)
    core::fail(Code::usage, "a query sees {} keys; row figures are possible for up to {}", longest,
               most_keys);

  RowFigures figures = profiling::empty_figures(shape.rows(), options, longest);
  if (shape.rows() == 0 || longest == 0) return figures;
  const attention::DenseCall call = attention::dense_call(keys_only, q, keys, seen);
  const Plan plan = plan_for(call, longest);
  const attention::InUse use(workspace);
  Workspace::Impl& impl = workspace.impl();
  for (attention::Scratch& worker : impl.worker) worker.get(plan.worker_floats());
  const std::int64_t items = shape.kv_heads * plan.items;
  Report report(progress, items);
  report.tell(0);
  // In causal attention the last rows see the most keys. They come first so that no long item is
  // left for the end.
  core::parallel_for(items, impl.crew(), [&](std::int64_t i, int worker) {
    const std::int64_t item = items - 1 - i;
    measure_item(call, plan, options, item % shape.kv_heads, item / shape.kv_heads,
                 impl.worker[static_cast<std::size_t>(worker)].get(plan.worker_floats()), figures);
    report.item_done(worker);
  });
  report.tell(items);
  return figures;
}

}  // namespace tamis::lab
