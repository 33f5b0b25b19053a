#include "lab/realise/descent/neighbours.h"

#include <algorithm>
#include <numeric>

#include "core/parallel.h"
#include "lab/kernels/kernels.h"

namespace tamis::lab::realisation {
namespace {

/// Each part has its own gradient of all keys, so parts must be few; two cores need a few each.
constexpr std::int64_t most_parts = 16;

/// A tile of queries, with the lists of its rows while they are made.
struct Tile {
  Tile(const tamis::kernels::Kernels& kernels, std::int64_t dim)
      : Tile(static_cast<std::size_t>(kernels.tile), static_cast<std::size_t>(dim)) {}
  Tile(std::size_t rows, std::size_t dim)
      : q(rows * dim),
        s(rows * tamis::page_tokens),
        above(rows),
        key(rows * tamis::page_tokens),
        value(rows * tamis::page_tokens),
        count(rows),
        keys(rows),
        values(rows) {}
  std::vector<float> q, s, above;
  std::vector<std::int32_t> key;  // the keys that one page adds
  std::vector<float> value;
  std::vector<std::int32_t> count;
  std::vector<std::vector<std::int32_t>> keys;  // the keys of each row so far
  std::vector<std::vector<float>> values;
};

/// Keeps the keys of the `longest` largest values, in ascending order of the keys.
void shorten(std::vector<std::int32_t>& keys, const std::vector<float>& values,
             std::int64_t longest) {
  if (static_cast<std::int64_t>(keys.size()) <= longest) return;
  std::vector<std::int32_t> order(keys.size());
  std::iota(order.begin(), order.end(), 0);
  std::nth_element(order.begin(), order.begin() + longest, order.end(),
                   [&](std::int32_t a, std::int32_t b) {
                     return values[a] != values[b] ? values[a] > values[b] : a < b;
                   });
  order.resize(longest);
  std::sort(order.begin(), order.end());
  for (std::int32_t& place : order) place = keys[place];
  keys = std::move(order);
}

}  // namespace

Neighbours::Neighbours(const Pattern& pattern, bool causal) : pattern_(pattern), causal_(causal) {
  const std::int64_t tile = tamis::kernels::kernels().tile;
  const std::int64_t tiles = (pattern.rows + tile - 1) / tile;
  rows_per_part_ = (tiles + most_parts - 1) / most_parts * tile;
  part_.resize(static_cast<std::size_t>((pattern.rows + rows_per_part_ - 1) / rows_per_part_));
}

std::int64_t Neighbours::first_row(std::int64_t part) const {
  return std::min(pattern_.rows, part * rows_per_part_);
}

std::span<const std::int32_t> Neighbours::of(std::int64_t part, std::int64_t row) const {
  const Part& p = part_[part];
  const std::int64_t i = row - first_row(part);
  return {p.key.data() + p.start[i], static_cast<std::size_t>(p.start[i + 1] - p.start[i])};
}

void Neighbours::refresh(const Points& q, const Points& k, std::span<const float> floor,
                         std::span<float> most, int threads) {
  core::parallel_for(parts(), threads,
                     [&](std::int64_t part, int) { refresh_part(part, q, k, floor, most); });
}

/// Removes the support, and the keys that a causal row does not see. Returns the largest remaining
/// value, or `floor` if there is none.
float Neighbours::keep_others(std::int64_t row, float floor, std::vector<std::int32_t>& keys,
                              std::vector<float>& values) const {
  const std::span<const std::int64_t> support = pattern_.columns_of(row);
  std::size_t kept = 0;
  auto next = support.begin();
  float largest = floor;
  for (std::size_t c = 0; c < keys.size(); ++c) {
    if (causal_ && keys[c] > row) break;
    while (next != support.end() && *next < keys[c]) ++next;
    if (next != support.end() && *next == keys[c]) continue;
    largest = std::max(largest, values[c]);
    keys[kept] = keys[c];
    values[kept++] = values[c];
  }
  keys.resize(kept);
  values.resize(kept);
  return largest;
}

void Neighbours::refresh_part(std::int64_t part, const Points& q, const Points& k,
                              std::span<const float> floor, std::span<float> most) {
  const tamis::kernels::Kernels& kernel = tamis::kernels::kernels();
  const std::int64_t tile = kernel.tile;
  const std::int64_t dim = q.dim;
  Part& out = part_[part];
  out.key.clear();
  out.start.assign(1, 0);
  Tile t(kernel, dim);
  const std::int64_t end = first_row(part + 1);
  for (std::int64_t first = first_row(part); first < end; first += tile) {
    const std::int64_t rows = std::min(tile, end - first);
    for (std::int64_t i = 0; i < tile; ++i) {
      // Lanes beyond the rows have logits of zero and a floor of one, so they list nothing.
      for (std::int64_t c = 0; c < dim; ++c)
        t.q[c * tile + i] = i < rows ? q.row(first + i)[c] : 0.0F;
      t.above[i] = i < rows ? floor[first + i] : 1.0F;
      t.keys[i].clear();
      t.values[i].clear();
    }
    const std::int64_t seen = causal_ ? std::min(k.rows, first + rows) : k.rows;
    for (std::int64_t page = 0; page < seen; page += tamis::page_tokens) {
      const int keys = static_cast<int>(std::min<std::int64_t>(tamis::page_tokens, seen - page));
      kernel.tile_logits(t.q.data(), k.row(page), k.stride, keys, static_cast<int>(dim),
                         t.s.data());
      kernels::lab_kernels().descent.pick(t.s.data(), keys, t.above.data(),
                                          static_cast<std::int32_t>(page), t.key.data(),
                                          t.value.data(), t.count.data());
      for (std::int64_t i = 0; i < rows; ++i) {
        const std::int32_t* key = t.key.data() + i * tamis::page_tokens;
        t.keys[i].insert(t.keys[i].end(), key, key + t.count[i]);
        const float* value = t.value.data() + i * tamis::page_tokens;
        t.values[i].insert(t.values[i].end(), value, value + t.count[i]);
      }
    }
    for (std::int64_t i = 0; i < rows; ++i) {
      const std::int64_t row = first + i;
      std::vector<std::int32_t>& keys = t.keys[i];
      std::vector<float>& values = t.values[i];
      most[row] = keep_others(row, floor[row], keys, values);
      shorten(keys, values, longest);
      out.key.insert(out.key.end(), keys.begin(), keys.end());
      out.start.push_back(static_cast<std::int64_t>(out.key.size()));
    }
  }
}

}  // namespace tamis::lab::realisation
