#include "sieve/sharpen.h"

#include <algorithm>

namespace tamis::sieve {

namespace {

/// Keys of a block that are sharpened together, and their weights.
struct List {
  std::uint8_t* key;
  float* weight;  ///< rows of picked_stride
  int count = 0;
};

struct Buffers {
  Buffers(const Problem& problem, Arena& arena)
      : weight(arena.take<float>(problem.rows * page_tokens)),
        dot(arena.take<std::int32_t>(problem.rows * page_tokens)) {
    for (List& list : lists)
      list = {arena.take<std::uint8_t>(kernels::picked_stride),
              arena.take<float>(problem.rows * kernels::picked_stride), 0};
  }
  float* weight;
  std::int32_t* dot;
  std::array<List, 2> lists{};
};

/// Returns Σ δ of keys whose weights add up to `used`: 0 without keys, even if psi is infinite.
double spread_of(float psi, double used) { return used > 0 ? static_cast<double>(psi) * used : 0; }

/// Multiplies the weights of the listed keys so that they become the estimates of level `level`.
void read_level(const Problem& problem, const cache::HeadBlock& block, std::int64_t b,
                const Look& look, int level, const List& list, std::int32_t* dot) {
  const auto l = static_cast<std::size_t>(level);
  problem.kernels.sieve.dot_listed({block.key_plane[l], list.key, list.count},
                                   problem.layout.key_row(), look.d32, look.integers(b), look.rows,
                                   dot);
  const float finer = 1.0F / static_cast<float>(1 << (4 * level));
  for (int r = 0; r < look.rows; ++r) {
    const Looked& looked = look.at(b, r);
    const float step = looked.step * finer;
    float* weight = list.weight + r * kernels::picked_stride;
    problem.kernels.sieve.sharpen(weight, dot + r * page_tokens, list.count, step,
                                  -7.5F * step * static_cast<float>(looked.sum_x), weight);
  }
}

}  // namespace

Sharpened not_sharpened(const Problem& problem, std::int64_t b, const Look& look) {
  Sharpened result{look.weights(b, 0)};
  for (int r = 0; r < look.rows; ++r) {
    const auto i = static_cast<std::size_t>(r);
    const Looked& looked = look.at(b, r);
    result.used[i] = static_cast<double>(looked.sum);
    result.spread[i] =
        spread_of(looked.psi[static_cast<std::size_t>(look.planes - 1)], result.used[i]);
  }
  if (look.planes == problem.coded(b).levels) result.deepest.fill(~0U);
  return result;
}

std::int64_t sharpen_scratch(const Problem& problem) {
  Arena arena(nullptr);
  const Buffers buffers(problem, arena);
  return arena.floats();
}

Sharpened sharpen_block(const Problem& problem, const cache::HeadBlock& block, std::int64_t b,
                        const Look& look, const float* weight, const Limits& limits,
                        float* scratch) {
  const kernels::SieveKernels& kernels = problem.kernels.sieve;
  const int levels = problem.coded(b).levels;
  const int rows = look.rows;
  Arena arena(scratch);
  Buffers buffers(problem, arena);
  Sharpened result{weight};

  int level = look.planes - 1;
  PerRow rest;
  List* list = buffers.lists.data();
  List* deeper = list + 1;
  list->count = kernels.pick(weight, rows, limits[static_cast<std::size_t>(level)].data(),
                             list->key, list->weight, rest.data());
  const auto settle = [&](int r, float used) {
    const auto i = static_cast<std::size_t>(r);
    result.used[i] += static_cast<double>(used);
    result.spread[i] +=
        spread_of(look.at(b, r).psi[static_cast<std::size_t>(level)], static_cast<double>(used));
  };
  for (int r = 0; r < rows; ++r) settle(r, rest[static_cast<std::size_t>(r)]);
  if (list->count == 0) return result;

  std::copy_n(weight, rows * page_tokens, buffers.weight);
  result.weight = buffers.weight;
  while (list->count > 0) {
    ++level;
    read_level(problem, block, b, look, level, *list, buffers.dot);
    result.key_rows[static_cast<std::size_t>(level)] += list->count;
    std::array<std::uint32_t, 4> mask{};
    if (level + 1 < levels)
      for (int r = 0; r < rows; ++r)
        kernels.mark_above(list->weight + r * kernels::picked_stride, list->count,
                           limits[static_cast<std::size_t>(level)][static_cast<std::size_t>(r)],
                           mask.data());
    for (int r = 0; r < rows; ++r) {
      const float* sharp = list->weight + r * kernels::picked_stride;
      settle(r, kernels.sum_unmarked(sharp, list->count, mask.data()));
      for (int i = 0; i < list->count; ++i)
        buffers.weight[r * page_tokens + list->key[i]] = sharp[i];
    }
    if (level + 1 == levels)
      for (int i = 0; i < list->count; ++i)
        result.deepest[static_cast<std::size_t>(list->key[i] / 32)] |= 1U << (list->key[i] % 32);
    deeper->count = kernels.pick_marked(list->key, list->count, mask.data(), rows, list->weight,
                                        deeper->key, deeper->weight);
    std::swap(list, deeper);
  }
  return result;
}

}  // namespace tamis::sieve
