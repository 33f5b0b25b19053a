// What the bodies of kernels share beyond a target's vector operations: the width of a tile, 2^x,
// and sums. Included after vectors_TARGET.h.
#pragma once

// Everything below the loops is inlined, as a call costs more than the few vectors of a block.
#define TAMIS_INLINE inline __attribute__((always_inline))

namespace tamis::kernels {
namespace {

constexpr int T = 2 * W;  // queries in a tile: two vectors

// ---- exp2 ----

// 2^f − 1 = f·g(f) on |f| ≤ ½ with g of degree 5 (minimax, relative error 2·10⁻⁹), so that 2^0 is
// exactly 1.
TAMIS_INLINE V exp2_vector(V x) {
  const V n = round_nearest(x);
  const V f = sub(x, n);
  V g = set1(0x1.41fb74p-13F);
  g = fma(g, f, set1(0x1.5f3ec2p-10F));
  g = fma(g, f, set1(0x1.3b2d4ep-7F));
  g = fma(g, f, set1(0x1.c6aee8p-5F));
  g = fma(g, f, set1(0x1.ebfbdcp-3F));
  g = fma(g, f, set1(0x1.62e430p-1F));
  const V y = mul(fma(g, f, set1(1.0F)), power_of_two(n));
  return select_less(x, set1(-126.0F), zero(), y);  // false for NaN, which stays NaN
}

// ---- Sums ----

/// Σ w of n weights, in f64.
double sum_of(const float* w, std::int64_t n) {
  D sum = zero_doubles();
  std::int64_t j = 0;
  for (; j + W <= n; j += W) sum = add(sum, to_doubles(load(w + j)));
  double all = reduce_add(sum);
  for (; j < n; ++j) all += w[j];
  return all;
}

}  // namespace
}  // namespace tamis::kernels
