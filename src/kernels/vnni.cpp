// AVX-512 with VNNI: the dots of the sieve's scan by products of bytes, four of which are summed at once.
// A query's 16-bit integer is 256·h + l with signed bytes h and l, so that two such products make one of 16
// bits, exactly. The rest of this target is AVX-512's.
//
// Cost: rows·128·d/32 multiply instructions for a block, for 4-bit and for 8-bit codes alike.
#include "kernels/vnni.h"

#include <immintrin.h>

#include <cstdint>

#include "kernels/kernels.h"
#include "kernels/pack_x86.h"
#include "kernels/plane_fetch.h"
#include "kernels/turn_avx512.h"

namespace tamis {
namespace {

#define TAMIS_INLINE inline __attribute__((always_inline))

constexpr int tiles = 2;  // of keys, whose sums are kept at once
constexpr int most_channels = 1024;
constexpr int block = 128;

/// Bytes of the queries in the order of planes: four channels in 32 bits, 8 of these for 32 channels.
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

/// The low planes of some tiles, turned so that keys run along lanes.
struct Turned {
  __m512i group[most_channels / 8][tiles];
};
TAMIS_INLINE void turn(const std::uint8_t* low, std::int64_t d32, Turned& turned) {
  for (int n = 0; n < tiles; ++n) {
    const std::uint8_t* row[tile_keys];
    for (int j = 0; j < tile_keys; ++j) row[j] = low + (n * tile_keys + j) * (d32 / 2);
    for (std::int64_t t = 0; t < d32 / 32; ++t) {
      __m512i four[4];
      turn_sixteen(row, 16 * t, four);
      for (int g = 0; g < 4; ++g) turned.group[4 * t + g][n] = four[g];
    }
  }
}

TAMIS_INLINE __m512i everywhere(std::int32_t four) { return _mm512_set1_epi32(four); }

template <int R, bool both>
TAMIS_INLINE void dots_of(const std::uint8_t* high, const std::uint8_t* low, std::int64_t d32,
                          const std::int16_t* xi, float* dot, PlaneFetch<tiles>& fetch_high,
                          PlaneFetch<tiles>& fetch_low) {
  const __m512i nibble = _mm512_set1_epi8(15);
  Bytes<R> q;
  split<R>(xi, d32, q);
  Turned turned;
  for (int key = 0; key < block; key += tiles * tile_keys) {
    const std::uint8_t* tile = high + key * (d32 / 2);
    if constexpr (both) turn(low + key * (d32 / 2), d32, turned);
    for (std::int64_t from = 0; from < d32; from += channels_summed) {
      __m512i high_sum[R][tiles], low_sum[R][tiles];
      for (int r = 0; r < R; ++r)
        for (int n = 0; n < tiles; ++n) high_sum[r][n] = low_sum[r][n] = _mm512_setzero_si512();
      const std::int64_t end = d32 < from + channels_summed ? d32 : from + channels_summed;
      for (std::int64_t group = from / 8; group < end / 8; ++group) {
        fetch_high();
        if constexpr (both) fetch_low();
        __m512i codes[2][tiles];
        for (int n = 0; n < tiles; ++n) {
          const __m512i x = _mm512_loadu_si512(tile + n * tile_keys * (d32 / 2) + group * 4 * tile_keys);
          if constexpr (both) {
            const __m512i y = turned.group[group][n];
            codes[0][n] = select_bits(nibble, y, _mm512_slli_epi16(x, 4));
            codes[1][n] = select_bits(nibble, _mm512_srli_epi16(y, 4), x);
          } else {
            codes[0][n] = _mm512_and_si512(x, nibble);
            codes[1][n] = _mm512_and_si512(_mm512_srli_epi16(x, 4), nibble);
          }
        }
        const std::int64_t at = group / 4 * 8 + group % 4;
        for (int half = 0; half < 2; ++half)
          for (int r = 0; r < R; ++r) {
            const __m512i h = everywhere(q.high[r][at + 4 * half]);
            const __m512i l = everywhere(q.low[r][at + 4 * half]);
            for (int n = 0; n < tiles; ++n) {
              high_sum[r][n] = _mm512_dpbusd_epi32(high_sum[r][n], codes[half][n], h);
              low_sum[r][n] = _mm512_dpbusd_epi32(low_sum[r][n], codes[half][n], l);
            }
          }
      }
      for (int r = 0; r < R; ++r)
        for (int n = 0; n < tiles; ++n) {
          float* to = dot + r * block + key + n * tile_keys;
          const __m512 x =
              _mm512_cvtepi32_ps(_mm512_add_epi32(_mm512_slli_epi32(high_sum[r][n], 8), low_sum[r][n]));
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
                    dots_of<R, both>(high, low, d32, x, to, fetch_high, fetch_low);
                  });
}

void coarse_dots(const std::uint8_t* high, std::int64_t d32, const std::int16_t* xi, int rows, float* dot,
                 const std::uint8_t* next_high) {
  dots<false>(high, high, d32, xi, rows, dot, next_high, high);
}

void middle_dots(const std::uint8_t* high, const std::uint8_t* low, std::int64_t d32,
                 const std::int16_t* xi, int rows, float* dot, const std::uint8_t* next_high,
                 const std::uint8_t* next_low) {
  dots<true>(high, low, d32, xi, rows, dot, next_high, next_low);
}

}  // namespace

Kernels with_vnni(const Kernels& avx512) {
  Kernels kernels = avx512;
  kernels.name = "avx512vnni";
  kernels.sieve.coarse_dots = coarse_dots;
  kernels.sieve.middle_dots = middle_dots;
  return kernels;
}

}  // namespace tamis
