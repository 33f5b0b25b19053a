// Codes into the byte orders of the index, 256 bits at a time: for every target that has AVX2.
#pragma once

#include <immintrin.h>

#include <cstdint>

namespace tamis {
namespace {

inline __m256i load_codes(const std::uint8_t* p) {
  return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(p));
}

/// The low nibbles of 32 codes, two in a byte, channels 16 apart: a chunk of a low plane.
inline void store_chunk(std::uint8_t* out, __m256i x) {
  const __m128i nibble = _mm_set1_epi8(15);
  const __m128i first = _mm_and_si128(_mm256_castsi256_si128(x), nibble);
  const __m128i second = _mm_and_si128(_mm256_extracti128_si256(x, 1), nibble);
  _mm_storeu_si128(reinterpret_cast<__m128i*>(out), _mm_or_si128(first, _mm_slli_epi16(second, 4)));
}

/// The high nibbles of 16 keys, 32 codes each: 8 rows of 32 bytes of a high plane.
inline void pack_tile(const std::uint8_t* codes, std::int64_t stride, std::uint8_t* out) {
  const __m256i nibbles = _mm256_set1_epi8(15);
  __m256i x[8];  // 32-bit lane t of x[i]: what row t holds for keys 2i and 2i + 1
  for (int i = 0; i < 8; ++i) {
    const __m256i a = _mm256_and_si256(_mm256_srli_epi32(load_codes(codes + 2 * i * stride), 4), nibbles);
    const __m256i b =
        _mm256_and_si256(_mm256_srli_epi32(load_codes(codes + (2 * i + 1) * stride), 4), nibbles);
    x[i] = _mm256_blend_epi16(_mm256_or_si256(a, _mm256_srli_epi32(a, 12)),
                              _mm256_or_si256(_mm256_slli_epi32(b, 16), _mm256_slli_epi32(b, 4)), 0xAA);
  }
  __m256i y[8];  // transposed in 2 × 2, then 4 × 4, then 8 × 8
  for (int i = 0; i < 8; i += 2) {
    y[i] = _mm256_unpacklo_epi32(x[i], x[i + 1]);
    y[i + 1] = _mm256_unpackhi_epi32(x[i], x[i + 1]);
  }
  for (int i = 0; i < 8; i += 4)
    for (int h = 0; h < 2; ++h) {
      x[i + 2 * h] = _mm256_unpacklo_epi64(y[i + h], y[i + 2 + h]);
      x[i + 2 * h + 1] = _mm256_unpackhi_epi64(y[i + h], y[i + 2 + h]);
    }
  auto* rows = reinterpret_cast<__m256i*>(out);
  for (int i = 0; i < 4; ++i) {
    _mm256_storeu_si256(rows + i, _mm256_permute2x128_si256(x[i], x[4 + i], 0x20));
    _mm256_storeu_si256(rows + 4 + i, _mm256_permute2x128_si256(x[i], x[4 + i], 0x31));
  }
}

/// For each of the 256 masks of 8 lanes the set lanes in order, then zeros.
struct SetLanes {
  alignas(64) std::uint8_t of[256][8];
};
constexpr SetLanes find_set_lanes() {
  SetLanes lanes{};
  for (int mask = 0; mask < 256; ++mask)
    for (int i = 0, n = 0; i < 8; ++i)
      if ((mask >> i & 1) != 0) lanes.of[mask][n++] = static_cast<std::uint8_t>(i);
  return lanes;
}
constexpr SetLanes set_lanes = find_set_lanes();

/// out[i] = the largest of x[i]'s lanes.
inline void reduce8_max(const __m256 x[8], float* out) {
  __m256 pairs[4];
  for (int i = 0; i < 4; ++i)  // lanes 0, 2 | 4, 6: x[2i]; lanes 1, 3 | 5, 7: x[2i + 1]
    pairs[i] = _mm256_max_ps(_mm256_unpacklo_ps(x[2 * i], x[2 * i + 1]),
                             _mm256_unpackhi_ps(x[2 * i], x[2 * i + 1]));
  __m256 fours[2];
  for (int i = 0; i < 2; ++i)
    fours[i] = _mm256_max_ps(_mm256_shuffle_ps(pairs[2 * i], pairs[2 * i + 1], 0x44),
                             _mm256_shuffle_ps(pairs[2 * i], pairs[2 * i + 1], 0xEE));
  _mm256_storeu_ps(out, _mm256_max_ps(_mm256_permute2f128_ps(fours[0], fours[1], 0x20),
                                      _mm256_permute2f128_ps(fours[0], fours[1], 0x31)));
}

}  // namespace
}  // namespace tamis
