// The parts of `prefill`, for callers that provide the pages themselves. They handle some rows of
// one KV head in tiles, which share each page.
#pragma once

#include "attention/dense.h"
#include "attention/pages.h"

namespace tamis::attention {

/// Rows of an item. They share the widening of a page to f32, and their sums fit the cache.
inline constexpr std::int64_t item_rows = 128;

/// How the rows of a KV head are divided into items and tiles; sizes are in floats.
struct TilePlan {
  std::int64_t rows;   ///< per KV head, ordered as `Row` says
  std::int64_t tile;   ///< rows of a tile
  std::int64_t tiles;  ///< per item
  std::int64_t items;  ///< per KV head
  std::int64_t tile_floats;
  std::int64_t page_floats;  ///< K or V of a page, widened to f32
  std::int64_t weight_floats;

  [[nodiscard]] std::int64_t worker_floats() const {
    return tiles * (tile_floats + weight_floats) + page_floats;
  }
};
TilePlan tile_plan(const DenseCall& call);

/// One tile's memory. All matrices have rows of `tile` floats.
struct Tile {
  float* q;  ///< head_dim rows, scaled
  float* o;  ///< value_dim rows
  float* m;
  float* l;
  float* factor;      ///< by which the sums shrink when a page is added
  float* seen;        ///< keys seen on the current page, as floats for the kernels
  std::int64_t most;  ///< the largest number of keys that a lane sees
};

/// The tiles of an item.
struct Tiles {
  std::int64_t kv_head;
  std::int64_t first_row;
  std::int64_t count;
  std::int64_t most;  ///< the largest number of keys that a row sees
  float* weights;
  float* page;
  Tile tile[item_rows];
};
/// Sets up the tiles of an item in `scratch`, which has worker_floats() floats.
Tiles start_tiles(const DenseCall& call, const TilePlan& plan, std::int64_t kv_head,
                  std::int64_t item, float* scratch);
/// Adds the page that holds keys first … first + page.keys − 1.
void add_page(const DenseCall& call, const TilePlan& plan, const Tiles& tiles, std::int64_t first,
              const Page& page);
void finish_tiles(const DenseCall& call, const TilePlan& plan, const Tiles& tiles,
                  const SoftmaxStates& states);

}  // namespace tamis::attention
