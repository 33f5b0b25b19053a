// Dense attention of many queries: tiles of queries against pages of keys, at the speed of
// arithmetic. Vectors run along the queries of a tile, so the softmax needs no horizontal sums and
// both products are one kernel. An item is a few tiles of one KV head. They share each page, which
// is widened to f32 once.
#include <algorithm>
#include <limits>

#include "attention/check.h"
#include "attention/tiles.h"
#include "attention/workspace.h"
#include "core/parallel.h"

namespace tamis::attention {
namespace {

Tile start_tile(const DenseCall& call, const TilePlan& plan, std::int64_t kv_head,
                std::int64_t first, float* memory) {
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

/// Converts the tokens of a page to contiguous floats in `scratch`. Tiles broadcast them many
/// times; from scattered or distant memory that would miss the caches.
View<const float> widened(const DenseCall& call, const void* page, std::int64_t stride,
                          std::int64_t keys, std::int64_t cols, float* scratch) {
  const auto* bytes = static_cast<const char*>(page);
  if (stride == cols) {
    call.kernels.widen[call.type](bytes, scratch, keys * cols);
  } else {
    for (std::int64_t j = 0; j < keys; ++j)
      call.kernels.widen[call.type](bytes + j * stride * size_of(call.shape.dtype),
                                    scratch + j * cols, cols);
  }
  return {scratch, keys, cols};
}

void finish_tile(const DenseCall& call, const TilePlan& plan, std::int64_t kv_head,
                 std::int64_t first, const Tile& tile, const SoftmaxStates& states) {
  for (std::int64_t lane = 0; lane < plan.tile && first + lane < plan.rows; ++lane) {
    const std::int64_t row = row_of(call.shape, kv_head, first + lane).index;
    states.m[static_cast<std::size_t>(row)] = tile.m[lane];
    states.l[static_cast<std::size_t>(row)] = tile.l[lane];
    const auto o = states.o.row(row);
    for (std::size_t c = 0; c < o.size(); ++c)
      o[c] = tile.o[static_cast<std::int64_t>(c) * plan.tile + lane];
  }
}

}  // namespace

TilePlan tile_plan(const DenseCall& call) {
  const Shape& shape = call.shape;
  TilePlan plan{};
  plan.rows = shape.group() * shape.queries;
  plan.tile = call.kernels.tile;
  plan.tiles = std::max<std::int64_t>(1, item_rows / plan.tile);
  plan.items = (plan.rows + plan.tile * plan.tiles - 1) / (plan.tile * plan.tiles);
  plan.tile_floats = round_up(plan.tile * (shape.head_dim + shape.value_dim + 4), 16);
  plan.weight_floats = round_up(plan.tile * page_tokens, 16);
  plan.page_floats = page_tokens * std::max(shape.head_dim, shape.value_dim);
  return plan;
}

Tiles start_tiles(const DenseCall& call, const TilePlan& plan, std::int64_t kv_head,
                  std::int64_t item, float* scratch) {
  Tiles tiles{};
  tiles.kv_head = kv_head;
  tiles.first_row = item * plan.tiles * plan.tile;
  tiles.count = std::min(plan.tiles, (plan.rows - tiles.first_row + plan.tile - 1) / plan.tile);
  tiles.weights = scratch + plan.tiles * plan.tile_floats;
  tiles.page = tiles.weights + plan.tiles * plan.weight_floats;
  for (std::int64_t t = 0; t < tiles.count; ++t) {
    tiles.tile[t] = start_tile(call, plan, kv_head, tiles.first_row + t * plan.tile,
                               scratch + t * plan.tile_floats);
    tiles.most = std::max(tiles.most, tiles.tile[t].most);
  }
  return tiles;
}

void add_page(const DenseCall& call, const TilePlan& plan, const Tiles& tiles, std::int64_t first,
              const Page& page) {
  const Shape& shape = call.shape;
  const KvPages& kv = call.kv[static_cast<std::size_t>(tiles.kv_head)];
  const auto d = static_cast<int>(shape.head_dim);
  const auto d_v = static_cast<int>(shape.value_dim);
  const auto keys = static_cast<int>(page.keys);
  const View<const float> k = widened(call, page.k, page.k_stride, keys, d, tiles.page);
  for (std::int64_t t = 0; t < tiles.count; ++t) {
    const Tile& tile = tiles.tile[t];
    if (tile.most <= first) continue;
    float* s = tiles.weights + t * plan.weight_floats;
    for (std::int64_t lane = 0; lane < plan.tile; ++lane) {
      const std::int64_t r = tiles.first_row + t * plan.tile + lane;
      const std::int64_t sees =
          r < plan.rows ? keys_seen(call.seen, r / shape.group(), kv) - first : 0;
      tile.seen[lane] = static_cast<float>(std::clamp<std::int64_t>(sees, 0, keys));
    }
    call.kernels.tile_logits(tile.q, k.data, k.stride, keys, d, s);
    call.kernels.tile_weigh(s, keys, tile.seen, tile.m, tile.l, tile.factor);
  }
  const View<const float> v = widened(call, page.v, page.v_stride, keys, d_v, tiles.page);
  for (std::int64_t t = 0; t < tiles.count; ++t)
    if (tiles.tile[t].most > first)
      call.kernels.tile_combine(tiles.weights + t * plan.weight_floats, v.data, v.stride, keys, d_v,
                                tiles.tile[t].factor, tiles.tile[t].o);
}

void finish_tiles(const DenseCall& call, const TilePlan& plan, const Tiles& tiles,
                  const SoftmaxStates& states) {
  for (std::int64_t t = 0; t < tiles.count; ++t)
    finish_tile(call, plan, tiles.kv_head, tiles.first_row + t * plan.tile, tiles.tile[t], states);
}

namespace {

void attend_item(const DenseCall& call, const TilePlan& plan, std::int64_t kv_head,
                 std::int64_t item, float* scratch, const SoftmaxStates& states) {
  const KvPages& kv = call.kv[static_cast<std::size_t>(kv_head)];
  const Tiles tiles = start_tiles(call, plan, kv_head, item, scratch);
  for (std::int64_t first = 0; first < tiles.most; first += page_tokens) {
    const auto page = static_cast<std::size_t>(first / page_tokens);
    const std::int64_t keys = std::min(page_tokens, tiles.most - first);
    add_page(call, plan, tiles, first, {kv.k[page], kv.v[page], kv.k_stride, kv.v_stride, keys});
  }
  finish_tiles(call, plan, tiles, states);
}

}  // namespace

void prefill(const DenseCall& call, Workspace::Impl& workspace, const SoftmaxStates& states) {
  const TilePlan plan = tile_plan(call);
  for (Scratch& worker : workspace.worker) worker.get(plan.worker_floats());
  const std::int64_t items = call.shape.kv_heads * plan.items;
  // With causal attention the last rows see the most keys. They come first, so that no long item
  // runs last.
  core::parallel_for(items, workspace.crew(), [&](std::int64_t i, int worker) {
    const std::int64_t item = items - 1 - i;
    attend_item(call, plan, item % call.shape.kv_heads, item / call.shape.kv_heads,
                workspace.worker[static_cast<std::size_t>(worker)].get(plan.worker_floats()),
                states);
  });
}

}  // namespace tamis::attention
