#include "support/lab/printed_algorithm.h"

#include <algorithm>
#include <bit>

namespace tamis::test {
namespace {

bool inside(std::uint32_t a, std::uint32_t b) { return (a & ~b) == 0; }
bool nested(std::uint32_t a, std::uint32_t b) { return inside(a, b) || inside(b, a); }

/// All rows that `component` reaches in the graph of step 3.
std::uint32_t grown(const RowSets& rows, std::uint32_t k0, std::uint32_t component) {
  for (std::uint32_t before = 0; before != component;) {
    before = component;
    for (std::size_t v = 0; v < rows.size(); ++v)
      for (std::size_t w = 0; w < rows.size(); ++w)
        if (((before >> v) & 1U) != 0 && ((k0 >> w) & 1U) != 0 && nested(rows[v], rows[w]))
          component |= 1U << w;
  }
  return component;
}

}  // namespace

bool printed_algorithm(const RowSets& rows, int hidden) {
  const std::size_t n = rows.size();
  const std::uint32_t all = (1U << n) - 1;
  const auto lowest = [](std::uint32_t set) { return set & (~set + 1); };

  std::uint32_t k0 = 0;  // steps 1, 2
  for (std::size_t i = 0; i < n; ++i)
    if (rows[i] != all) k0 |= 1U << i;
  if (k0 == 0) return true;

  const std::uint32_t k1 = grown(rows, k0, lowest(k0));  // steps 3, 4
  const std::uint32_t k2 = grown(rows, k0, lowest(k0 & ~k1));
  if ((k1 | k2) != k0) return false;

  RowSets turned = rows;  // step 5
  for (std::size_t i = 0; i < n; ++i)
    if (((k2 >> i) & 1U) != 0) turned[i] = all & ~rows[i];

  for (const std::uint32_t a : turned)  // step 6; rows outside K₀ are nested with every row
    for (const std::uint32_t b : turned)
      if (!nested(a, b)) return false;

  if (hidden > 1) return true;  // step 7

  std::ranges::sort(turned, {}, [](std::uint32_t set) { return std::popcount(set); });  // step 8

  if (inside(k2, turned.front()) || inside(turned.back(), k2)) return true;  // step 9
  for (std::size_t r = 0; r + 1 < n; ++r)
    if (inside(turned[r], k2) && inside(k2, turned[r + 1])) return true;

  if (inside(k2, all & ~turned.back()) || inside(all & ~turned.front(), k2))
    return true;  // step 10
  for (std::size_t r = 0; r + 1 < n; ++r)
    if (inside(all & ~turned[r + 1], k2) && inside(k2, all & ~turned[r])) return true;

  return false;  // step 11
}

}  // namespace tamis::test
