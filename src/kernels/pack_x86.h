// Codes into the byte orders of the index, 256 bits at a time: for every target that has AVX2.
#pragma once

#include <immintrin.h>

#include <cstdint>

namespace tamis {
namespace {

/// The low nibbles of 32 codes, two in a byte, channels 16 apart.
inline void store_chunk(std::uint8_t* out, __m256i x) {
  const __m128i nibble = _mm_set1_epi8(15);
  const __m128i first = _mm_and_si128(_mm256_castsi256_si128(x), nibble);
  const __m128i second = _mm_and_si128(_mm256_extracti128_si256(x, 1), nibble);
  _mm_storeu_si128(reinterpret_cast<__m128i*>(out), _mm_or_si128(first, _mm_slli_epi16(second, 4)));
}

/// Exchanges bytes 1 and 2 of every four: from the order of channels to that of planes, and back.
inline __m128i exchange_bytes(__m128i x) {
  return _mm_shuffle_epi8(x, _mm_setr_epi8(0, 2, 1, 3, 4, 6, 5, 7, 8, 10, 9, 11, 12, 14, 13, 15));
}

/// Both nibbles of 32 codes, in the order of planes.
inline void store_planes(__m256i x, std::uint8_t* low, std::uint8_t* high) {
  const __m128i nibble = _mm_set1_epi8(15);
  const __m128i first = exchange_bytes(_mm256_castsi256_si128(x));
  const __m128i second = exchange_bytes(_mm256_extracti128_si256(x, 1));
  _mm_storeu_si128(
      reinterpret_cast<__m128i*>(low),
      _mm_or_si128(_mm_and_si128(first, nibble), _mm_andnot_si128(nibble, _mm_slli_epi16(second, 4))));
  _mm_storeu_si128(
      reinterpret_cast<__m128i*>(high),
      _mm_or_si128(_mm_and_si128(_mm_srli_epi16(first, 4), nibble), _mm_andnot_si128(nibble, second)));
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
