// Dot products of the sieve for AVX-512 with VNNI, from products of bytes, of which an instruction
// sums four. A query's 16-bit integer is 256·h + l with signed bytes h and l, so that two products
// of bytes make one of 16 bits, exactly. avx512.cpp makes the table that holds these kernels.
//
// Cost: rows·128·d/32 multiply instructions for a block, for 4-bit and for 8-bit codes alike.
#include "kernels/vnni.h"

#include <immintrin.h>

#include <cstdint>

#include "kernels/kernels.h"
#include "kernels/pack_x86.h"
#include "kernels/plane_fetch.h"
#include "kernels/turn_avx512.h"

namespace tamis::kernels {
namespace {

#define TAMIS_INLINE inline __attribute__((always_inline))

constexpr int tiles = 2;  // tiles of keys whose sums are kept at once

/// Bytes of the queries in the order of planes: an integer holds four channels, and 8 integers hold
/// 32 channels.
template <int R>
struct Bytes {
  std::int32_t high[R][most_channels / 4];
  std::int32_t low[R][most_channels / 4];
};

/// Exchanges bytes 1 and 2 of every four.
TAMIS_INLINE __m256i in_planes_order(__m256i x) {
  return _mm256_inserti128_si256(_mm256_castsi128_si256(exchange_bytes(_mm256_castsi256_si128(x))),
                                 exchange_bytes(_mm256_extracti128_si256(x, 1)), 1);
}

template <int R>
TAMIS_INLINE void split(const std::int16_t* xi, std::int64_t d32, Bytes<R>& bytes) {
  for (int r = 0; r < R; ++r)
    for (std::int64_t c = 0; c < d32; c += 32) {
      const __m512i x = _mm512_loadu_si512(xi + r * d32 + c);
      const __m512i high = _mm512_srai_epi16(_mm512_add_epi16(x, _mm512_set1_epi16(128)), 8);
      const __m512i low = _mm512_sub_epi16(x, _mm512_slli_epi16(high, 8));
      _mm256_storeu_si256(reinterpret_cast<__m256i*>(bytes.high[r] + c / 4),
                          in_planes_order(_mm512_cvtepi16_epi8(high)));
      _mm256_storeu_si256(reinterpret_cast<__m256i*>(bytes.low[r] + c / 4),
                          in_planes_order(_mm512_cvtepi16_epi8(low)));
    }
}

TAMIS_INLINE __m512i everywhere(std::int32_t four) { return _mm512_set1_epi32(four); }

/// Sums of the codes of some tiles times the high and the low byte of every query.
template <int R>
struct Sums {
  __m512i high[R][tiles];
  __m512i low[R][tiles];
};

/// The addresses that are prefetched during the work on some tiles of a plane: `soon` into the
/// first-level cache, `later` into the second.
struct Ahead {
  const char* soon;
  const char* later;

  Ahead(PlaneFetch<tiles>& fetch, std::int64_t bytes) : soon(fetch.soon()), later(fetch.later()) {
    fetch.skip(bytes);
  }
  TAMIS_INLINE void fetch(std::int64_t at) const { fetch_lines<tiles>(soon + at, later + at); }
};

/// Adds four groups, 32 channels, of some tiles. The low plane is transposed between the
/// multiplications of one call and the next, which do not depend on it.
template <int R, bool both>
TAMIS_INLINE void add_groups(const std::uint8_t* high, const std::uint8_t* low, std::int64_t d32,
                             std::int64_t t, const Bytes<R>& q, Sums<R>& sum,
                             const Ahead& ahead_high, const Ahead& ahead_low) {
  const __m512i nibble = _mm512_set1_epi8(15);
  const std::int64_t tile = tile_keys * (d32 / 2);
  __m512i turned[tiles][4];
  if constexpr (both)
    for (int n = 0; n < tiles; ++n) turn_sixteen(low + n * tile, d32 / 2, 16 * t, turned[n]);
#pragma GCC unroll 4
  for (int g = 0; g < 4; ++g) {
    ahead_high.fetch((4 * t + g) * tiles * 64);
    if constexpr (both) ahead_low.fetch((4 * t + g) * tiles * 64);
    __m512i codes[2][tiles];
    for (int n = 0; n < tiles; ++n) {
      const __m512i x = _mm512_loadu_si512(high + n * tile + (4 * t + g) * 4 * tile_keys);
      if constexpr (both) {
        const __m512i y = turned[n][g];
        codes[0][n] = select_bits(nibble, y, _mm512_slli_epi16(x, 4));
        codes[1][n] = select_bits(nibble, _mm512_srli_epi16(y, 4), x);
      } else {
        codes[0][n] = _mm512_and_si512(x, nibble);
        codes[1][n] = _mm512_and_si512(_mm512_srli_epi16(x, 4), nibble);
      }
    }
    for (int half = 0; half < 2; ++half)
      for (int r = 0; r < R; ++r) {
        const __m512i h = everywhere(q.high[r][8 * t + 4 * half + g]);
        const __m512i l = everywhere(q.low[r][8 * t + 4 * half + g]);
        for (int n = 0; n < tiles; ++n) {
          sum.high[r][n] = _mm512_dpbusd_epi32(sum.high[r][n], codes[half][n], h);
          sum.low[r][n] = _mm512_dpbusd_epi32(sum.low[r][n], codes[half][n], l);
        }
      }
  }
}

/// If d32 is a compile-time constant (`constant` > 0), so are the offsets of a tile's keys.
template <int R, bool both, int constant>
TAMIS_INLINE void dots_of(const std::uint8_t* high, const std::uint8_t* low, std::int64_t channels,
                          const std::int16_t* xi, float* dot, PlaneFetch<tiles>& fetch_high,
                          PlaneFetch<tiles>& fetch_low) {
  const std::int64_t d32 = constant > 0 ? constant : channels;
  const std::int64_t bytes = tiles * tile_keys * (d32 / 2);
  Bytes<R> q;
  split<R>(xi, d32, q);
  for (int key = 0; key < page_tokens; key += tiles * tile_keys) {
    const Ahead ahead_high(fetch_high, bytes);
    const Ahead ahead_low(fetch_low, bytes);
    for (std::int64_t from = 0; from < d32; from += channels_summed) {
      Sums<R> sum;
      for (int r = 0; r < R; ++r)
        for (int n = 0; n < tiles; ++n) sum.high[r][n] = sum.low[r][n] = _mm512_setzero_si512();
      const std::int64_t end = d32 < from + channels_summed ? d32 : from + channels_summed;
      for (std::int64_t t = from / 32; t < end / 32; ++t)
        add_groups<R, both>(high + key * (d32 / 2), low + key * (d32 / 2), d32, t, q, sum,
                            ahead_high, ahead_low);
      for (int r = 0; r < R; ++r)
        for (int n = 0; n < tiles; ++n) {
          float* to = dot + r * page_tokens + key + n * tile_keys;
          const __m512 x = _mm512_cvtepi32_ps(
              _mm512_add_epi32(_mm512_slli_epi32(sum.high[r][n], 8), sum.low[r][n]));
          _mm512_storeu_ps(to, from == 0 ? x : _mm512_add_ps(_mm512_loadu_ps(to), x));
        }
    }
  }
}

template <bool both>
TAMIS_INLINE void dots(const std::uint8_t* high, const std::uint8_t* low, std::int64_t d32,
                       const std::int16_t* xi, int rows, float* dot, const std::uint8_t* next_high,
                       const std::uint8_t* next_low) {
  for_rows<tiles>(high, low, d32, xi, rows, dot, next_high, next_low,
                  [=]<int R>(const std::int16_t* x, float* to, auto& fetch_high, auto& fetch_low) {
                    if (d32 == 128) {
                      dots_of<R, both, 128>(high, low, d32, x, to, fetch_high, fetch_low);
                    } else if (d32 == 64) {
                      dots_of<R, both, 64>(high, low, d32, x, to, fetch_high, fetch_low);
                    } else {
                      dots_of<R, both, 0>(high, low, d32, x, to, fetch_high, fetch_low);
                    }
                  });
}

/// The bytes of a query that are multiplied with the low and with the high nibbles of 64 bytes of a
/// key's row. Each name gives the nibble first, then the byte of the query.
struct RowBytes {
  __m512i low_high, low_low, high_high, high_low;
};

/// The 32-channel chunks first … first + 3 of a query, with zeros for those beyond d32.
TAMIS_INLINE RowBytes row_bytes(const std::int16_t* xi, std::int64_t d32, std::int64_t first) {
  std::int8_t bytes[4][64] = {};
  for (std::int64_t t = first; t < first + 4 && 32 * t < d32; ++t) {
    const __m512i x = _mm512_loadu_si512(xi + 32 * t);
    const __m512i high = _mm512_srai_epi16(_mm512_add_epi16(x, _mm512_set1_epi16(128)), 8);
    const __m512i low = _mm512_sub_epi16(x, _mm512_slli_epi16(high, 8));
    const __m256i h = in_planes_order(_mm512_cvtepi16_epi8(high));
    const __m256i l = in_planes_order(_mm512_cvtepi16_epi8(low));
    const std::int64_t at = 16 * (t - first);
    const auto put = [at](std::int8_t* to, __m128i half) {
      _mm_storeu_si128(reinterpret_cast<__m128i*>(to + at), half);
    };
    put(bytes[0], _mm256_castsi256_si128(h));
    put(bytes[1], _mm256_castsi256_si128(l));
    put(bytes[2], _mm256_extracti128_si256(h, 1));
    put(bytes[3], _mm256_extracti128_si256(l, 1));
  }
  return {_mm512_loadu_si512(bytes[0]), _mm512_loadu_si512(bytes[1]), _mm512_loadu_si512(bytes[2]),
          _mm512_loadu_si512(bytes[3])};
}

/// The sum over the lanes of each of four vectors.
TAMIS_INLINE __m128i sums_of_lanes(const __m512i x[4]) {
  __m256i half[4];
  for (int i = 0; i < 4; ++i)
    half[i] = _mm256_add_epi32(_mm512_castsi512_si256(x[i]), _mm512_extracti64x4_epi64(x[i], 1));
  const __m256i a =
      _mm256_hadd_epi32(_mm256_hadd_epi32(half[0], half[1]), _mm256_hadd_epi32(half[2], half[3]));
  return _mm_add_epi32(_mm256_castsi256_si128(a), _mm256_extracti128_si256(a, 1));
}

/// Handles up to 128 channels, so that the bytes of all rows stay in registers.
template <int R>
TAMIS_INLINE void dot_rows(const Listed& listed, std::int64_t stride, std::int64_t d32,
                           const std::int16_t* xi, std::int64_t first, std::int32_t* dot) {
  const __m512i nibble = _mm512_set1_epi8(15);
  RowBytes q[R];
  for (int r = 0; r < R; ++r) q[r] = row_bytes(xi + r * d32, d32, first);
  const std::int64_t bytes = (d32 - 32 * first) / 2;
  const auto mask = bytes >= 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << bytes) - 1;
  const std::uint8_t* codes = listed.codes + 16 * first;
  for (int i = 0; i < listed.count; i += 4) {
    __m512i sum[R][4];
    for (int k = 0; k < 4; ++k) {
      const int key = i + k < listed.count ? i + k : listed.count - 1;
      const __m512i x = _mm512_maskz_loadu_epi8(mask, codes + listed.key[key] * stride);
      const __m512i low = _mm512_and_si512(x, nibble);
      const __m512i high = _mm512_and_si512(_mm512_srli_epi16(x, 4), nibble);
      for (int r = 0; r < R; ++r) {
        const __m512i zero = _mm512_setzero_si512();
        const __m512i h = _mm512_dpbusd_epi32(_mm512_dpbusd_epi32(zero, low, q[r].low_high), high,
                                              q[r].high_high);
        const __m512i l =
            _mm512_dpbusd_epi32(_mm512_dpbusd_epi32(zero, low, q[r].low_low), high, q[r].high_low);
        sum[r][k] = _mm512_add_epi32(_mm512_slli_epi32(h, 8), l);
      }
    }
    for (int r = 0; r < R; ++r) {
      auto* to = reinterpret_cast<__m128i*>(dot + r * page_tokens + i);
      const __m128i four = sums_of_lanes(sum[r]);
      _mm_storeu_si128(to, first == 0 ? four : _mm_add_epi32(_mm_loadu_si128(to), four));
    }
  }
}

template <int R>
TAMIS_INLINE void dot_rows_of_all(const Listed& listed, std::int64_t stride, std::int64_t d32,
                                  const std::int16_t* xi, std::int32_t* dot) {
  for (std::int64_t first = 0; 32 * first < d32; first += 4)
    dot_rows<R>(listed, stride, d32, xi, first, dot);
}

}  // namespace

void vnni_dots_of_plane(const std::uint8_t* high, std::int64_t d32, const std::int16_t* xi,
                        int rows, float* dot, const std::uint8_t* next_high) {
  dots<false>(high, high, d32, xi, rows, dot, next_high, high);
}

void vnni_dots_of_planes(const std::uint8_t* high, const std::uint8_t* low, std::int64_t d32,
                         const std::int16_t* xi, int rows, float* dot,
                         const std::uint8_t* next_high, const std::uint8_t* next_low) {
  dots<true>(high, low, d32, xi, rows, dot, next_high, next_low);
}

void vnni_dot_listed(const Listed& listed, std::int64_t stride, std::int64_t d32,
                     const std::int16_t* xi, int rows, std::int32_t* dot) {
  for (; rows >= 4; rows -= 4, xi += 4 * d32, dot += 4 * page_tokens)
    dot_rows_of_all<4>(listed, stride, d32, xi, dot);
  if (rows == 3) dot_rows_of_all<3>(listed, stride, d32, xi, dot);
  if (rows == 2) dot_rows_of_all<2>(listed, stride, d32, xi, dot);
  if (rows == 1) dot_rows_of_all<1>(listed, stride, d32, xi, dot);
}

}  // namespace tamis::kernels
