#include "sieve/dense/dense.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

#include "attention/few_rows.h"
#include "attention/rounding.h"
#include "attention/softmax_state.h"
#include "attention/tiles.h"
#include "sieve/arena.h"
#include "sieve/dense/stored_pages.h"
#include "sieve/error_model.h"

namespace tamis::sieve {
namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();

/// Bounds for the certificate of one row, collected page by page.
struct Bounds {
  double query_norm;  ///< bounds ‖q‖
  double unit;        ///< q = unit·x, max|x| in 1 … 2: squares of x stay in the range of f32
  double key_norm;    ///< bounds the norms of the keys seen, as decoded
  double value_norm;  ///< bounds the norms of the values seen, as decoded
  double width;       ///< bounds the error of a logit, in octaves, that the stored bits leave
  double missing;     ///< bounds ‖v − v̂‖
  // Sums over keys, used only for few rows, relative to 2^top; docs/certificates.md, "The bounds".
  double top;
  double used;     ///< Σ ê
  double spread;   ///< Σ δ
  double product;  ///< Σ u·r + Σ δ·‖v̂‖
};

/// One call of dense attention: the rows of the item are the queries of a single head.
struct Item {
  explicit Item(const DenseItem& from)
      : stored{from.kernels,  from.layout,
               from.sequence, from.head,
               from.dtype,    from.seen.empty() ? 0 : *std::ranges::max_element(from.seen)},
        shape{1,
              1,
              from.query.rows,
              from.heads.key_dim,
              from.heads.value_dim,
              stored.dtype(),
              from.heads.scale},
        call{shape,
             from.query,
             {&none, 1},
             from.seen,
             from.kernels,
             attention::kv_type(shape.dtype),
             static_cast<float>(static_cast<double>(shape.scale) * attention::log2_e)} {}
  Item(const Item&) = delete;

  Stored stored;
  Shape shape;
  KvPages none;  // the pages come from StoredPages
  attention::DenseCall call;
};

/// The arrays in the scratch memory.
struct Room {
  float* pages;    ///< for StoredPages
  float* l;        ///< one per row
  float* work;     ///< scratch memory of the dense kernels for few rows or for tiles
  float* squares;  ///< squares of the queries divided by their units, in the order of the kernels
  float* steps;    ///< squares of a block's steps
  float* folded;   ///< ‖Dx‖² of each row, for the current block
  Bounds* bounds;  ///< one for each row that is worked on at once
  std::int64_t floats;  ///< size of all of them together
};

bool few(const DenseItem& item) {
  return std::max(item.query.rows, item.all_rows) <= attention::decode_rows;
}

std::int64_t rows_at_once(const DenseItem& item, const Item& of) {
  const attention::TilePlan plan = attention::tile_plan(of.call);
  return few(item) ? item.query.rows : plan.tiles * plan.tile;
}

std::int64_t work_floats(const DenseItem& item, const Item& of) {
  if (!few(item)) return attention::tile_plan(of.call).worker_floats();
  const attention::FewRows rows = attention::few_rows(of.call);
  return rows.query_floats() + 2 * rows.sum_floats() + rows.page_floats() + page_tokens;
}

Room room_in(const DenseItem& item, const Item& of, float* memory) {
  const std::int64_t rows = rows_at_once(item, of);
  const std::int64_t d = attention::round_up(item.heads.key_dim, 32);
  Arena arena(memory);
  Room room{};
  room.pages = arena.take<float>(StoredPages::room_floats(item.layout));
  room.l = arena.take<float>(item.query.rows);
  room.work = arena.take<float>(work_floats(item, of));
  room.squares = arena.take<float>(rows * d);
  room.steps = arena.take<float>(d);
  room.folded = arena.take<float>(rows * item.kernels.pad);
  room.bounds = arena.take<Bounds>(rows);
  room.floats = arena.floats();
  return room;
}

Bounds begin(std::span<const float> query) {
  double squares = 0;
  float most = 0.0F;
  for (const float x : query) {
    squares += static_cast<double>(x) * static_cast<double>(x);
    most = std::max(most, std::abs(x));
  }
  Bounds bounds{};
  bounds.query_norm = attention::root_above(squares);
  bounds.unit = most > 0 && std::isfinite(most) ? std::ldexp(1.0, std::ilogb(most)) : 1.0;
  bounds.top = -infinity;
  return bounds;
}

/// Returns (x/unit)². It may underflow where it is below 2⁻¹⁴⁹; the largest one is at least 1.
float square(float x, double unit) {
  const auto y = static_cast<float>(static_cast<double>(x) / unit);
  return y * y;
}

/// Collects the bounds of the rows from the pages: norms of keys and values, and for
/// every block ‖Dq′‖.
class Watch {
 public:
  Watch(const DenseItem& item, const Item& of, const Room& room)
      : item_(item), of_(of), room_(room) {}

  /// Starts on rows first … first + count − 1 of the item.
  void begin_rows(std::int64_t first, std::int64_t count) {
    first_ = first;
    count_ = count;
    const std::int64_t d = item_.heads.key_dim;
    const std::int64_t tile = item_.kernels.tile;
    std::fill_n(room_.squares, rows_at_once(item_, of_) * attention::round_up(d, 32), 0.0F);
    for (std::int64_t r = 0; r < count; ++r) {
      const auto query = item_.query.row(first + r);
      room_.bounds[r] = begin(query);
      for (std::int64_t c = 0; c < d; ++c) {
        const std::int64_t at = few(item_) ? r * attention::round_up(d, 32) +
                                                 kernels::place(item_.kernels, kernels::kv_f32, c)
                                           : (r / tile * d + c) * tile + r % tile;
        room_.squares[at] = square(query[static_cast<std::size_t>(c)], room_.bounds[r].unit);
      }
    }
  }

  /// Adds a page whose tokens begin at position `first`. `weights` holds the weights of few rows,
  /// relative to 2^m, or is null.
  void add(const StoredPage& stored, std::int64_t first, const float* weights, const float* m) {
    const attention::Page& page = stored.page;
    const double key_norm =
        largest_norm(item_.kernels, of_.call.type, page.k, page.keys, item_.heads.key_dim);
    const double value_norm =
        largest_norm(item_.kernels, of_.call.type, page.v, page.keys, item_.heads.value_dim);
    for (std::int64_t r = 0; r < count_; ++r) {
      Bounds& row = room_.bounds[r];
      if (sees(r, first) <= 0) continue;
      row.key_norm = std::max(row.key_norm, key_norm);
      row.value_norm = std::max(row.value_norm, value_norm);
      if (weights == nullptr) continue;
      const double top = std::max(row.top, static_cast<double>(m[r]));
      const double shrink = std::exp2(row.top - top);
      row.used *= shrink;
      row.spread *= shrink;
      row.product *= shrink;
      row.top = top;
    }
    for (int p = 0; p < stored.parts; ++p)
      add_part(stored.part[static_cast<std::size_t>(p)], first, key_norm, value_norm, weights, m);
  }

  /// Completes the certificate of a row that sees a token; `c` already holds the counts of what
  /// was read.
  void certify(std::int64_t r, std::span<const float> out, float lse, Certificate& c) const;

 private:
  [[nodiscard]] std::int64_t sees(std::int64_t r, std::int64_t first) const {
    return item_.seen[static_cast<std::size_t>(first_ + r)] - first;
  }

  /// Writes ‖Dx‖² of every row to room_.folded.
  void fold(const cache::HeadBlock& block) {
    const kernels::Kernels& kernels = item_.kernels;
    const std::int64_t d = item_.heads.key_dim;
    const auto dim = static_cast<int>(d);
    kernels.widen[kernels::kv_f16](block.key_step(), room_.steps, d);
    for (std::int64_t c = 0; c < d; ++c) room_.steps[c] *= room_.steps[c];
    if (few(item_)) {
      kernels.logits[kernels::kv_f32](room_.squares, attention::round_up(d, 32),
                                      static_cast<int>(count_), room_.steps, d, 1, dim,
                                      room_.folded, kernels.pad, room_.steps, 0);
      return;
    }
    for (std::int64_t r = 0; r < count_; r += kernels.tile)
      kernels.tile_logits(room_.squares + r * d, room_.steps, d, 1, dim, room_.folded + r);
  }
  /// Returns an upper bound on ‖Dq′‖ of a row.
  [[nodiscard]] double folded(const cache::BlockHead& head, std::int64_t r) const {
    const float squares = room_.folded[few(item_) ? r * item_.kernels.pad : r];
    const double factor = std::abs(static_cast<double>(of_.shape.scale)) * attention::log2_e_above;
    return factor * static_cast<double>(head.key_unit) * room_.bounds[r].unit *
           norm_above(squares, item_.heads.key_dim);
  }

  void add_part(const Part& part, std::int64_t first, double key_norm, double value_norm,
                const float* weights, const float* m) {
    const bool coded = part.block >= 0;
    int levels = 0;
    cache::HeadBlock block{};
    if (coded) {
      block = of_.stored.block(part.block);
      levels = item_.sequence.blocks[static_cast<std::size_t>(part.block)].levels;
      fold(block);
    } else if (weights == nullptr) {
      return;
    }
    const double factor = std::abs(static_cast<double>(of_.shape.scale)) * attention::log2_e_above;
    const double missing =
        coded ? stored_missing(block.head(), levels, value_norm, item_.heads.value_dim) : 0;
    for (std::int64_t r = 0; r < count_; ++r) {
      Bounds& row = room_.bounds[r];
      if (sees(r, first) <= part.first) continue;
      const double width =
          coded ? stored_octaves(block.head(), levels, folded(block.head(), r),
                                 factor * row.query_norm, key_norm, item_.heads.key_dim)
                : 0;
      row.width = std::max(row.width, width);
      row.missing = std::max(row.missing, missing);
      if (weights == nullptr) continue;
      const double weight = item_.kernels.sum(weights + r * page_tokens + part.first, part.count) *
                            std::exp2(static_cast<double>(m[r]) - row.top);
      if (!(weight > 0)) continue;
      const double delta = weight * excess(log_2 * width);
      row.used += weight;
      row.spread += delta;
      row.product += (weight + delta) * missing + (value_norm > 0 ? delta * value_norm : 0);
    }
  }

  const DenseItem& item_;
  const Item& of_;
  const Room& room_;
  std::int64_t first_ = 0;
  std::int64_t count_ = 0;
};

void Watch::certify(std::int64_t r, std::span<const float> out, float lse, Certificate& c) const {
  if (std::isnan(lse)) {
    c.tau = c.error = c.lse_error = infinity;
    c.reached = Reached::not_finite;
    return;
  }
  const Bounds& row = room_.bounds[r];
  const std::int64_t keys = sees(r, 0);
  const Rounding rounding =
      attention_rounding(of_.shape, keys, row.query_norm, row.key_norm, row.value_norm);
  // tau, open and error bound what the bits that are not stored change: the distance from exact
  // attention over the numbers as decoded to that over the numbers as appended.
  double tau = distance_of_octaves(row.width);
  double open = log_2 * row.width;  // for the log-sum-exp
  double error = infinity;
  const double out_norm = attention::norm_above(out);
  if (row.used > 0 && rounding.tau < 0.5) {
    // Computed weights are within a factor 1 + rounding.tau of the exact ones, except
    // those that vanished.
    const double factor = (1 + rounding.tau) * (1 + rounding.tau);
    const double vanished = static_cast<double>(keys) * 0x1p-124;
    const double spread = factor * (row.spread / row.used + vanished * excess(log_2 * row.width));
    if (spread < 0.5) {
      const double product =
          factor * (row.product / row.used +
                    vanished * (1 + excess(log_2 * row.width)) * (row.missing + row.value_norm));
      error = (product + spread * (out_norm + rounding.error)) / (1 - spread);
      tau = std::min(tau, spread);
      open = std::min(open, -std::log1p(-spread));
    }
  }
  error = std::min(error, row.missing + 2 * tau * row.value_norm);
  constexpr double safety = 1 + 0x1p-40;
  c.tau = std::min(1.0, (rounding.tau + tau) * safety);
  // Exact attention is an average of values, so its norm is at most the largest of theirs.
  c.error = std::min(rounding.error + error, row.value_norm + row.missing + out_norm) * safety;
  c.lse_error = (rounding.lse + open) * safety;
}

/// Returns the counts of what was read, which are the same for every row.
Certificate counts_of(const DenseItem& item, const Item& of) {
  const std::int64_t seen = of.stored.seen;
  const std::int64_t dims = item.heads.key_dim + item.heads.value_dim;
  Certificate c;
  for (const cache::RawRun& run : item.sequence.raw) c.raw_keys += seen_of(run, seen);
  c.bytes = c.raw_keys * dims * size_of(item.dtype);
  const auto& blocks = item.sequence.blocks;
  for (std::size_t b = 0; b < blocks.size() && blocks[b].first < seen; ++b) {
    const std::int64_t tokens = std::min<std::int64_t>(blocks[b].tokens, seen - blocks[b].first);
    const auto& raw = of.stored.block(static_cast<std::int64_t>(b)).head().raw;
    std::int64_t kept_raw = 0;
    for (std::int64_t j = 0; j < tokens; ++j) kept_raw += cache::in_mask(raw, j) ? 1 : 0;
    c.keys[blocks[b].levels - 1] += tokens - kept_raw;
    for (int p = 0; p < blocks[b].levels; ++p)
      c.bytes += static_cast<std::int64_t>(item.layout.head_bytes(p));
  }
  c.raw_values = c.raw_keys;
  std::ranges::copy(c.keys, c.values);
  c.dense_bytes = seen * dims * 2;
  return c;
}

/// Writes the results of rows first … first + count − 1 from their states.
void finish(const DenseItem& item, std::int64_t first, std::int64_t count,
            const SoftmaxStates& states, const Watch* watch, const Certificate& counts,
            std::span<float> lse, std::span<Certificate> certificates) {
  for (std::int64_t r = 0; r < count; ++r) {
    const auto i = static_cast<std::size_t>(first + r);
    const auto out = states.o.row(first + r);
    lse[i] = attention::finish_row(states.m[i], states.l[i], out, out);
    if (std::isnan(lse[i])) std::ranges::fill(out, std::numeric_limits<float>::quiet_NaN());
    if (watch == nullptr) continue;
    certificates[i] = item.seen[i] > 0 ? counts : Certificate{};
    certificates[i].dense = item.why;
    if (item.seen[i] > 0) watch->certify(r, out, lse[i], certificates[i]);
  }
}

void attend_few(const Item& of, const Room& room, Watch* watch, const SoftmaxStates& states) {
  const attention::FewRows rows = attention::few_rows(of.call);
  float* scaled = room.work;
  float* whole_memory = scaled + rows.query_floats();
  float* span_memory = whole_memory + rows.sum_floats();
  float* page_memory = span_memory + rows.sum_floats();
  const attention::FewSums whole = attention::few_sums(rows, whole_memory);
  const attention::FewSums part = attention::few_sums(rows, span_memory);
  attention::scale_queries(of.call, rows, 0, scaled);
  if (watch != nullptr) watch->begin_rows(0, rows.rows);
  StoredPages pages(of.stored, room.pages);
  attention::begin(rows, whole);
  for (std::int64_t first = 0; first < of.stored.seen; first += page_tokens) {
    const attention::FewSums& sums = first < attention::span_keys ? whole : part;
    if (first >= attention::span_keys && first % attention::span_keys == 0)
      attention::begin(rows, part);
    const StoredPage stored = pages.next(first);
    std::int64_t sees[attention::decode_rows];
    for (std::int64_t r = 0; r < rows.rows; ++r)
      sees[r] = of.call.seen[static_cast<std::size_t>(r)] - first;
    attention::add_page(of.call, rows, scaled, stored.page, sees, {stored.page.k, 0}, page_memory,
                        sums);
    // Without coded blocks, norms are all that the bounds need.
    if (watch != nullptr)
      watch->add(stored, first, of.stored.coded() ? page_memory : nullptr, sums.m);
    const bool last =
        first + page_tokens >= of.stored.seen || (first + page_tokens) % attention::span_keys == 0;
    if (last && first >= attention::span_keys) attention::merge(rows, whole, part);
  }
  attention::hand_out(of.call, rows, 0, whole, states);
}

}  // namespace

std::int64_t dense_scratch(const DenseItem& item) {
  const Item of(item);
  return room_in(item, of, nullptr).floats;
}

void attend_dense(const DenseItem& item, float* scratch, View<float> out, std::span<float> lse,
                  std::span<Certificate> certificates) {
  const Item of(item);
  const Room room = room_in(item, of, scratch);
  Watch watching(item, of, room);
  Watch* watch = certificates.empty() ? nullptr : &watching;
  const Certificate counts = watch == nullptr ? Certificate{} : counts_of(item, of);
  // The states are kept in the caller's arrays for the results.
  const SoftmaxStates states{lse, {room.l, lse.size()}, out};
  if (few(item)) {
    attend_few(of, room, watch, states);
    return finish(item, 0, item.query.rows, states, watch, counts, lse, certificates);
  }
  const attention::TilePlan plan = attention::tile_plan(of.call);
  for (std::int64_t i = 0; i < plan.items; ++i) {
    const attention::Tiles tiles = attention::start_tiles(of.call, plan, 0, i, room.work);
    const std::int64_t count = std::min(plan.tiles * plan.tile, plan.rows - tiles.first_row);
    if (watch != nullptr) watch->begin_rows(tiles.first_row, count);
    StoredPages pages(of.stored, room.pages);
    for (std::int64_t first = 0; first < tiles.most; first += page_tokens) {
      StoredPage stored = pages.next(first);
      stored.page.keys = std::min(stored.page.keys, tiles.most - first);
      attention::add_page(of.call, plan, tiles, first, stored.page);
      if (watch != nullptr) watch->add(stored, first, nullptr, nullptr);
    }
    attention::finish_tiles(of.call, plan, tiles, states);
    finish(item, tiles.first_row, count, states, watch, counts, lse, certificates);
  }
}

}  // namespace tamis::sieve
