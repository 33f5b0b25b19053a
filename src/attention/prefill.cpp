// Dense attention of many queries: tiles of queries against pages of keys, at the speed of arithmetic.
// Vectors run along the queries of a tile, so the softmax needs no horizontal sums and both products
// are one kernel. An item is a few tiles of one KV head, which share each page they widen to f32.
#include <algorithm>
#include <limits>

#include "attention/check.h"
#include "attention/dense.h"
#include "attention/workspace.h"
#include "core/parallel.h"

namespace tamis {
namespace {

constexpr std::int64_t item_rows = 128;  // shares the widening of a page; one item's sums fit the cache

/// One tile's memory, in a worker's scratch. All matrices have rows of `tile` floats.
struct Tile {
  float* q;  // head_dim rows
  float* o;  // value_dim rows
  float* m;
  float* l;
  float* factor;
  float* seen;        // keys seen on the page at hand, as floats for the kernels
  std::int64_t most;  // keys that some lane sees
};

struct Plan {
  std::int64_t rows;  // per KV head, query-major so that a tile's queries see about as many keys
  std::int64_t tile;
  std::int64_t tiles;  // per item
  std::int64_t items;  // per KV head
  std::int64_t tile_floats;
  std::int64_t page_floats;  // widened K or V
  std::int64_t weight_floats;

  [[nodiscard]] std::int64_t worker_floats() const {
    return tiles * (tile_floats + weight_floats) + page_floats;
  }
};

Plan plan_for(const DenseCall& call) {
  const Shape& shape = call.shape;
  Plan plan{};
  plan.rows = shape.group() * shape.queries;
  plan.tile = call.kernels.tile;
  plan.tiles = std::max<std::int64_t>(1, item_rows / plan.tile);
  plan.items = (plan.rows + plan.tile * plan.tiles - 1) / (plan.tile * plan.tiles);
  plan.tile_floats = round_up(plan.tile * (shape.head_dim + shape.value_dim + 4), 16);
  plan.weight_floats = round_up(plan.tile * page_keys, 16);
  plan.page_floats = page_keys * std::max(shape.head_dim, shape.value_dim);
  return plan;
}

Tile start_tile(const DenseCall& call, const Plan& plan, std::int64_t kv_head, std::int64_t first,
                float* memory) {
  const Shape& shape = call.shape;
  const KvPages& kv = call.kv[static_cast<std::size_t>(kv_head)];
  Tile tile{};
  tile.q = memory;
  tile.o = tile.q + plan.tile * shape.head_dim;
  tile.m = tile.o + plan.tile * shape.value_dim;
  tile.l = tile.m + plan.tile;
  tile.factor = tile.l + plan.tile;
  tile.seen = tile.factor + plan.tile;
  std::fill(tile.q, tile.m, 0.0F);
  std::fill(tile.m, tile.l, -std::numeric_limits<float>::infinity());
  std::fill(tile.l, tile.factor, 0.0F);
  for (std::int64_t lane = 0; lane < plan.tile && first + lane < plan.rows; ++lane) {
    const auto from = call.q.row(row_of(shape, kv_head, first + lane).index);
    for (std::size_t c = 0; c < from.size(); ++c)
      tile.q[static_cast<std::int64_t>(c) * plan.tile + lane] = from[c] * call.factor;
    tile.most = std::max(tile.most, keys_seen(call.seen, (first + lane) / shape.group(), kv));
  }
  return tile;
}

/// The tokens of a page as floats in `scratch`, in a row: tiles broadcast them many times, and from
/// memory with gaps or far away that would miss the caches.
View<const float> widened(const DenseCall& call, const void* page, std::int64_t stride, std::int64_t keys,
                          std::int64_t cols, float* scratch) {
  const auto* bytes = static_cast<const char*>(page);
  if (stride == cols) {
    call.kernels.widen[call.type](bytes, scratch, keys * cols);
  } else {
    for (std::int64_t j = 0; j < keys; ++j)
      call.kernels.widen[call.type](bytes + j * stride * size_of(call.shape.dtype), scratch + j * cols,
                                    cols);
  }
  return {scratch, keys, cols};
}

void finish_tile(const DenseCall& call, const Plan& plan, std::int64_t kv_head, std::int64_t first,
                 const Tile& tile, const SoftmaxStates& states) {
  for (std::int64_t lane = 0; lane < plan.tile && first + lane < plan.rows; ++lane) {
    const std::int64_t row = row_of(call.shape, kv_head, first + lane).index;
    states.m[static_cast<std::size_t>(row)] = tile.m[lane];
    states.l[static_cast<std::size_t>(row)] = tile.l[lane];
    const auto o = states.o.row(row);
    for (std::size_t c = 0; c < o.size(); ++c)
      o[c] = tile.o[static_cast<std::int64_t>(c) * plan.tile + lane];
  }
}

void attend_item(const DenseCall& call, const Plan& plan, std::int64_t kv_head, std::int64_t item,
                 float* scratch, const SoftmaxStates& states) {
  const Shape& shape = call.shape;
  const KvPages& kv = call.kv[static_cast<std::size_t>(kv_head)];
  const auto d = static_cast<int>(shape.head_dim);
  const auto d_v = static_cast<int>(shape.value_dim);
  float* weights = scratch + plan.tiles * plan.tile_floats;
  float* page_scratch = weights + plan.tiles * plan.weight_floats;

  Tile tiles[item_rows];
  std::int64_t most = 0;
  const std::int64_t first_row = item * plan.tiles * plan.tile;
  const std::int64_t count = std::min(plan.tiles, (plan.rows - first_row + plan.tile - 1) / plan.tile);
  for (std::int64_t t = 0; t < count; ++t) {
    tiles[t] = start_tile(call, plan, kv_head, first_row + t * plan.tile, scratch + t * plan.tile_floats);
    most = std::max(most, tiles[t].most);
  }

  for (std::int64_t first = 0; first < most; first += page_tokens) {
    const auto page = static_cast<std::size_t>(first / page_tokens);
    const auto keys = static_cast<int>(std::min(page_tokens, most - first));
    const View<const float> k = widened(call, kv.k[page], kv.k_stride, keys, d, page_scratch);
    for (std::int64_t t = 0; t < count; ++t) {
      const Tile& tile = tiles[t];
      if (tile.most <= first) continue;
      float* s = weights + t * plan.weight_floats;
      for (std::int64_t lane = 0; lane < plan.tile; ++lane) {
        const std::int64_t r = first_row + t * plan.tile + lane;
        const std::int64_t sees = r < plan.rows ? keys_seen(call.seen, r / shape.group(), kv) - first : 0;
        tile.seen[lane] = static_cast<float>(std::clamp<std::int64_t>(sees, 0, keys));
      }
      call.kernels.tile_logits(tile.q, k.data, k.stride, keys, d, s);
      call.kernels.tile_weigh(s, keys, tile.seen, tile.m, tile.l, tile.factor);
    }
    const View<const float> v = widened(call, kv.v[page], kv.v_stride, keys, d_v, page_scratch);
    for (std::int64_t t = 0; t < count; ++t)
      if (tiles[t].most > first)
        call.kernels.tile_combine(weights + t * plan.weight_floats, v.data, v.stride, keys, d_v,
                                  tiles[t].factor, tiles[t].o);
  }
  for (std::int64_t t = 0; t < count; ++t)
    finish_tile(call, plan, kv_head, first_row + t * plan.tile, tiles[t], states);
}

}  // namespace

void prefill(const DenseCall& call, Workspace::Impl& workspace, const SoftmaxStates& states) {
  const Plan plan = plan_for(call);
  for (Scratch& worker : workspace.worker) worker.get(plan.worker_floats());
  const std::int64_t items = call.shape.kv_heads * plan.items;
  // The last rows see the most keys when causal: start with them, so that no long item comes last.
  parallel_for(items, workspace.crew(), [&](std::int64_t i, int worker) {
    const std::int64_t item = items - 1 - i;
    attend_item(call, plan, item % call.shape.kv_heads, item / call.shape.kv_heads,
                workspace.worker[static_cast<std::size_t>(worker)].get(plan.worker_floats()), states);
  });
}

}  // namespace tamis
