// The kernels of jl.h in terms of a target's vector operations; lab/kernels/body.h includes this
// file. A normal number costs about three cycles on AVX2, two of them for its random word. The
// products run from the first-level cache.

namespace tamis::lab::kernels {
namespace {

// ---- Normals ----

struct PhiloxBlock {
  I c[4];
};

TAMIS_INLINE PhiloxBlock philox_blocks(I index, std::uint32_t plane, std::uint64_t row,
                                       std::uint64_t seed) {
  PhiloxBlock x{{index, set1_integers(plane), set1_integers(static_cast<std::uint32_t>(row)),
                 set1_integers(static_cast<std::uint32_t>(row >> 32))}};
  auto k0 = static_cast<std::uint32_t>(seed);
  auto k1 = static_cast<std::uint32_t>(seed >> 32);
  for (int round = 0; round < 10; ++round) {
    const Wide a = multiply_wide(x.c[0], 0xD2511F53U);
    const Wide b = multiply_wide(x.c[2], 0xCD9E8D57U);
    x.c[0] = xor_integers(xor_integers(b.high, x.c[1]), set1_integers(k0));
    x.c[2] = xor_integers(xor_integers(a.high, x.c[3]), set1_integers(k1));
    x.c[1] = b.low;
    x.c[3] = a.low;
    k0 += 0x9E3779B9U;
    k1 += 0xBB67AE85U;
  }
  return x;
}

/// √(−2 log u) for u = (word + ½)·2^-32, rounded to a float. The logarithm is log(1 + x) = x·p(x)
/// for √½ ≤ 1 + x < √2. The polynomial p has degree 8 and is fitted at Chebyshev's points, with a
/// relative error of 2·10⁻⁸.
TAMIS_INLINE V radius_of(I word) {
  const V halves = fma(to_floats(shift_right<16>(word)), set1(65536.0F),
                       to_floats(and_integers(word, set1_integers(0xFFFFU))));
  const V u = mul(add(halves, set1(0.5F)), set1(0x1p-32F));
  const I moved = add_integers(as_integers(u), set1_integers(0x3F800000U - 0x3F3504F3U));
  const V exponent = sub(to_floats(shift_right<23>(moved)), set1(127.0F));
  const V x = sub(as_floats(add_integers(and_integers(moved, set1_integers(0x7FFFFFU)),
                                         set1_integers(0x3F3504F3U))),
                  set1(1.0F));
  V p = set1(0x1.6626eap-4F);
  p = fma(p, x, set1(-0x1.26729ep-3F));
  p = fma(p, x, set1(0x1.322850p-3F));
  p = fma(p, x, set1(-0x1.5329bep-3F));
  p = fma(p, x, set1(0x1.98b80ap-3F));
  p = fma(p, x, set1(-0x1.0005a6p-2F));
  p = fma(p, x, set1(0x1.555790p-2F));
  p = fma(p, x, set1(-0x1.fffff8p-2F));
  p = fma(p, x, set1(1.0F));
  const V log = fma(exponent, set1(0x1.62e43p-1F), mul(p, x));
  return sqrt(max(mul(log, set1(-2.0F)), zero()));
}

/// A pair of normal numbers from two words. The low 30 bits of the second word are an angle within
/// a quarter turn around the axis; its two highest bits choose one of the four quarters.
TAMIS_INLINE void box_muller(I first, I second, float* a, float* b) {
  const I sign = and_integers(second, set1_integers(0x80000000U));
  const V r = as_floats(xor_integers(as_integers(radius_of(first)), sign));
  const V x = mul(to_floats(shift_left<2>(second)),
                  set1(0x1p-31F));  // in eighths of a turn, −1 ≤ x ≤ 1
  const V z = mul(x, x);
  V s = set1(-0x1.2d9b7cp-15F);
  s = fma(s, z, set1(0x1.465ec4p-9F));
  s = fma(s, z, set1(-0x1.4abbbap-4F));
  s = mul(fma(s, z, set1(0x1.921fb6p-1F)), x);
  V c = set1(0x1.d9c326p-19F);
  c = fma(c, z, set1(-0x1.55c57ap-12F));
  c = fma(c, z, set1(0x1.03c1dcp-6F));
  c = fma(c, z, set1(-0x1.3bd3ccp-2F));
  c = fma(c, z, set1(1.0F));
  const V swap = as_floats(and_integers(second, set1_integers(0x40000000U)));  // 0 or 2
  store(a, mul(r, select_less(set1(1.0F), swap, s, c)));
  store(b, mul(r, select_less(set1(1.0F), swap, c, s)));
}

void normals(std::uint64_t seed, std::uint32_t plane, std::uint64_t row, std::uint32_t first,
             std::int64_t blocks, float* out) {
  I index = add_integers(set1_integers(first), lane_numbers());
  for (std::int64_t b = 0; b < blocks; b += W) {
    const PhiloxBlock x = philox_blocks(index, plane, row, seed);
    box_muller(x.c[0], x.c[1], out + b, out + blocks + b);
    box_muller(x.c[2], x.c[3], out + 2 * blocks + b, out + 3 * blocks + b);
    index = add_integers(index, set1_integers(W));
  }
}

// ---- Products ----

// There may be thousands of vectors, memory pages apart. So sums are made tile by tile, and all
// rows use a tile while it is in the cache. Sums pass through memory in the same order, so the
// tiling does not change the result.
constexpr std::int64_t tile_vectors = 64;
constexpr std::int64_t tile_floats = 256;
constexpr std::int64_t dots_chunk = 256;  // floats of a vector that are used while cached

template <int R, int C>
TAMIS_INLINE void dots_block(const float* x, const float* y, std::int64_t stride, std::int64_t n,
                             bool more, float* c, std::int64_t c_stride) {
  V sum[R][C];
  for (int i = 0; i < R; ++i)
    for (int j = 0; j < C; ++j) sum[i][j] = zero();
  for (std::int64_t t = 0; t < n; t += W) {
    V b[C];
    for (int j = 0; j < C; ++j) b[j] = load(y + j * stride + t);
    for (int i = 0; i < R; ++i) {
      const V a = load(x + i * stride + t);
      for (int j = 0; j < C; ++j) sum[i][j] = fma(a, b[j], sum[i][j]);
    }
  }
  V all[8];
  for (int i = 0; i < 8; ++i) all[i] = i < R * C ? sum[i / C][i % C] : zero();
  float value[8];
  reduce8(all, value);
  for (int i = 0; i < R; ++i)
    for (int j = 0; j < C; ++j) {
      float& to = c[i * c_stride + j];
      to = more ? to + value[i * C + j] : value[i * C + j];
    }
}

void dots(const float* x, std::int64_t nx, const float* y, std::int64_t ny, std::int64_t stride,
          std::int64_t n, float* c, std::int64_t c_stride) {
  for (std::int64_t from = 0; from < n; from += dots_chunk) {
    const std::int64_t count = n - from < dots_chunk ? n - from : dots_chunk;
    const float* xs = x + from;
    const float* ys = y + from;
    const bool more = from > 0;
    std::int64_t j = 0;
    for (; j + 2 <= ny; j += 2) {
      std::int64_t i = 0;
      for (; i + 4 <= nx; i += 4)
        dots_block<4, 2>(xs + i * stride, ys + j * stride, stride, count, more,
                         c + i * c_stride + j, c_stride);
      for (; i < nx; ++i)
        dots_block<1, 2>(xs + i * stride, ys + j * stride, stride, count, more,
                         c + i * c_stride + j, c_stride);
    }
    for (; j < ny; ++j) {
      std::int64_t i = 0;
      for (; i + 8 <= nx; i += 8)
        dots_block<8, 1>(xs + i * stride, ys + j * stride, stride, count, more,
                         c + i * c_stride + j, c_stride);
      for (; i < nx; ++i)
        dots_block<1, 1>(xs + i * stride, ys + j * stride, stride, count, more,
                         c + i * c_stride + j, c_stride);
    }
  }
}

/// `mix` for R rows of results, with U vectors of each in registers.
template <int R, int U>
TAMIS_INLINE void mix_rows(const float* a, std::int64_t a_stride, const float* x,
                           std::int64_t x_stride, std::int64_t count, std::int64_t n, float* y,
                           std::int64_t y_stride) {
  static_assert(64 % (U * W) == 0);
  for (std::int64_t t = 0; t < n; t += U * W) {
    V sum[R][U];
    for (int r = 0; r < R; ++r)
      for (int u = 0; u < U; ++u) sum[r][u] = load(y + r * y_stride + t + u * W);
    for (std::int64_t i = 0; i < count; ++i) {
      V v[U];
      for (int u = 0; u < U; ++u) v[u] = load(x + i * x_stride + t + u * W);
      for (int r = 0; r < R; ++r) {
        const V factor = set1(a[r * a_stride + i]);
        for (int u = 0; u < U; ++u) sum[r][u] = fma(factor, v[u], sum[r][u]);
      }
    }
    for (int r = 0; r < R; ++r)
      for (int u = 0; u < U; ++u) store(y + r * y_stride + t + u * W, sum[r][u]);
  }
}

void mix(const float* a, std::int64_t a_stride, std::int64_t rows, const float* x,
         std::int64_t x_stride, std::int64_t count, std::int64_t n, float* y,
         std::int64_t y_stride) {
  constexpr int single = W <= 8 ? 8 : 64 / W;
  for (std::int64_t i = 0; i < count; i += tile_vectors) {
    const std::int64_t vectors = count - i < tile_vectors ? count - i : tile_vectors;
    for (std::int64_t t = 0; t < n; t += tile_floats) {
      const std::int64_t floats = n - t < tile_floats ? n - t : tile_floats;
      const float* const from = x + i * x_stride + t;
      float* const to = y + t;
      std::int64_t r = 0;
      for (; r + 4 <= rows; r += 4)
        mix_rows<4, 2>(a + r * a_stride + i, a_stride, from, x_stride, vectors, floats,
                       to + r * y_stride, y_stride);
      for (; r + 2 <= rows; r += 2)
        mix_rows<2, 4>(a + r * a_stride + i, a_stride, from, x_stride, vectors, floats,
                       to + r * y_stride, y_stride);
      for (; r < rows; ++r)
        mix_rows<1, single>(a + r * a_stride + i, a_stride, from, x_stride, vectors, floats,
                            to + r * y_stride, y_stride);
    }
  }
}

void dots_f64(const float* x, std::int64_t nx, const float* y, std::int64_t ny, std::int64_t stride,
              std::int64_t n, double* c, std::int64_t c_stride) {
  for (std::int64_t i = 0; i < nx; ++i)
    for (std::int64_t j = 0; j < ny; ++j) {
      D even = zero_doubles();
      D odd = zero_doubles();
      const float* a = x + i * stride;
      const float* b = y + j * stride;
      for (std::int64_t t = 0; t < n; t += 2 * W) {
        even = fma(to_doubles(load(a + t)), to_doubles(load(b + t)), even);
        odd = fma(to_doubles(load(a + t + W)), to_doubles(load(b + t + W)), odd);
      }
      c[i * c_stride + j] = reduce_add(add(even, odd));
    }
}

void mix_f64(const double* a, const float* x, std::int64_t x_stride, std::int64_t count,
             std::int64_t n, double* y) {
  for (std::int64_t t = 0; t < n; t += 2 * W) {
    D first = zero_doubles();
    D second = zero_doubles();
    for (std::int64_t i = 0; i < count; ++i) {
      const D factor = set1_doubles(a[i]);
      first = fma(factor, to_doubles(load(x + i * x_stride + t)), first);
      second = fma(factor, to_doubles(load(x + i * x_stride + t + W)), second);
    }
    store(y + t, first);
    store(y + t + W, second);
  }
}

constexpr JlKernels make_jl_table() { return {normals, dots, mix, dots_f64, mix_f64}; }

}  // namespace
}  // namespace tamis::lab::kernels
