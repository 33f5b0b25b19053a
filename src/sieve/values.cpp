#include "sieve/values.h"

#include <algorithm>

namespace tamis::sieve {

namespace {

/// The values of which a plane is read: their indices in the block, and their
/// weights times 16^−plane.
struct List {
  std::uint8_t* token;
  float* weight;  ///< rows of picked_stride
  int count = 0;
};
using Lists = std::array<List, cache::most_levels>;

Lists lists_in(const Problem& problem, Arena& arena) {
  Lists lists{};
  for (List& list : lists)
    list = {arena.take<std::uint8_t>(kernels::picked_stride),
            arena.take<float>(problem.rows * kernels::picked_stride), 0};
  return lists;
}

/// Returns for each row the weight above which a value with that `missing` is above `threshold`.
PerRow limits_of(int rows, const PerRow& threshold, float missing) {
  PerRow limit;
  for (int r = 0; r < rows; ++r) {
    const auto i = static_cast<std::size_t>(r);
    limit[i] = weight_at(threshold[i], missing);
  }
  return limit;
}

/// Copies the values of `list` that are marked in `mask` to `deeper`, with weights times 1/16.
void pick_deeper(const Problem& problem, const List& list, const std::array<std::uint32_t, 4>& mask,
                 List& deeper) {
  deeper.count = problem.kernels.sieve.pick_marked(
      list.token, list.count, mask.data(), problem.rows, list.weight, deeper.token, deeper.weight);
  for (int r = 0; r < problem.rows; ++r)
    for (int i = 0; i < deeper.count; ++i)
      deeper.weight[r * kernels::picked_stride + i] *= 1.0F / 16;
}

}  // namespace

std::int64_t values_scratch(const Problem& problem) {
  Arena arena(nullptr);
  lists_in(problem, arena);
  return arena.floats();
}

ValuesRead add_values(const Problem& problem, const cache::HeadBlock& block, const Sharpened& keys,
                      int levels, const PerRow& threshold, bool all_below, float* scratch,
                      float* out) {
  const kernels::SieveKernels& kernels = problem.kernels.sieve;
  const cache::BlockHead& head = block.head();
  const int rows = problem.rows;
  Arena arena(scratch);
  Lists lists = lists_in(problem, arena);
  ValuesRead result;
  PerRow rest;
  PerRow half{};
  PerRow used;
  // The bounds in the header hold for the block's farthest value. What to read is decided by a
  // typical value, for which they are scaled down.
  const float typical = head.value_spread / std::max(head.value_radius, 0x1p-100F);
  if (all_below) {
    for (std::size_t i = 0; i < static_cast<std::size_t>(rows); ++i)
      rest[i] = static_cast<float>(keys.used[i]);
  } else {
    const PerRow limit = limits_of(rows, threshold, head.value_spread);
    lists[0].count =
        kernels.pick(keys.weight, rows, limit.data(), lists[0].token, lists[0].weight, rest.data());
  }
  for (int r = 0; r < rows; ++r) {
    const auto i = static_cast<std::size_t>(r);
    used[i] = static_cast<float>(keys.used[i]);
    result.product[i] = static_cast<double>(rest[i]) * static_cast<double>(head.value_radius);
  }
  kernels::ListedNibbles listed{};
  listed.weight_stride = kernels::picked_stride;
  double scale = 1;  // 16^plane
  for (int plane = 0; plane < levels; ++plane, scale *= 16) {
    const auto l = static_cast<std::size_t>(plane);
    List& list = lists[l];
    if (list.count == 0) break;
    const double missing = static_cast<double>(head.value_missing[l]);
    std::array<std::uint32_t, 4> mask{};
    if (plane + 1 < levels) {
      const PerRow finer =
          limits_of(rows, threshold, head.value_missing[l] * typical * static_cast<float>(scale));
      for (int r = 0; r < rows; ++r)
        kernels.mark_above(list.weight + r * kernels::picked_stride, list.count,
                           finer[static_cast<std::size_t>(r)], mask.data());
      pick_deeper(problem, list, mask, lists[l + 1]);
    }
    constexpr std::array<std::uint32_t, 4> none{};
    for (int r = 0; r < rows; ++r) {
      const auto i = static_cast<std::size_t>(r);
      const float* weight = list.weight + r * kernels::picked_stride;
      half[i] += 7.5F * kernels.sum_unmarked(weight, list.count, none.data());
      const float stays = kernels.sum_unmarked(weight, list.count, mask.data());
      result.product[i] += static_cast<double>(stays) * scale * missing;
    }
    result.value_rows[l] = list.count;
    listed.plane[plane] = block.value_plane[l];
    listed.token[plane] = list.token;
    listed.weight[plane] = list.weight;
    listed.count[plane] = list.count;
    listed.planes = plane + 1;
  }
  problem.kernels.sieve.add_values(listed, problem.layout.value_row(), block.value_centre(),
                                   block.value_step(), head.value_unit, problem.layout.value_d32,
                                   rows, half.data(), used.data(), out, problem.layout.value_d32);
  return result;
}

}  // namespace tamis::sieve
