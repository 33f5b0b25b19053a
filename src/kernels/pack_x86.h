// Stores codes in the byte orders of planes, 256 bits at a time, for every target that has AVX2.
#pragma once

#include <immintrin.h>

#include <cstdint>

namespace tamis::kernels {
namespace {

/// Exchanges bytes 1 and 2 of every four. This converts from the order of channels to that of
/// planes of keys, and back.
inline __m128i exchange_bytes(__m128i x) {
  return _mm_shuffle_epi8(x, _mm_setr_epi8(0, 2, 1, 3, 4, 6, 5, 7, 8, 10, 9, 11, 12, 14, 13, 15));
}

/// Stores the low nibbles of 32 codes, given in two halves, and the high ones.
inline void store_nibbles(__m128i first, __m128i second, std::uint8_t* low, std::uint8_t* high) {
  const __m128i nibble = _mm_set1_epi8(15);
  _mm_storeu_si128(reinterpret_cast<__m128i*>(low),
                   _mm_or_si128(_mm_and_si128(first, nibble),
                                _mm_andnot_si128(nibble, _mm_slli_epi16(second, 4))));
  _mm_storeu_si128(reinterpret_cast<__m128i*>(high),
                   _mm_or_si128(_mm_and_si128(_mm_srli_epi16(first, 4), nibble),
                                _mm_andnot_si128(nibble, second)));
}

/// Store both nibbles of 32 codes in the order of planes of keys, and in that of planes of values.
inline void store_planes(__m256i x, std::uint8_t* low, std::uint8_t* high) {
  store_nibbles(exchange_bytes(_mm256_castsi256_si128(x)),
                exchange_bytes(_mm256_extracti128_si256(x, 1)), low, high);
}
inline void store_chunks(__m256i x, std::uint8_t* low, std::uint8_t* high) {
  store_nibbles(_mm256_castsi256_si128(x), _mm256_extracti128_si256(x, 1), low, high);
}

/// 32 codes of 16 bits. Each vector has 16 of them, first their low bytes, then their high bytes.
struct SplitCodes {
  __m256i first;
  __m256i second;
};

/// Stores all four nibbles of 32 codes in planes, lowest first.
inline void store_chunks(const SplitCodes& x, std::uint8_t* const to[4]) {
  const __m256i nibble = _mm256_set1_epi8(15);
  const __m256i even = _mm256_or_si256(_mm256_and_si256(x.first, nibble),
                                       _mm256_andnot_si256(nibble, _mm256_slli_epi16(x.second, 4)));
  const __m256i odd = _mm256_or_si256(_mm256_and_si256(_mm256_srli_epi16(x.first, 4), nibble),
                                      _mm256_andnot_si256(nibble, x.second));
  const auto store = [](std::uint8_t* p, __m128i y) {
    _mm_storeu_si128(reinterpret_cast<__m128i*>(p), y);
  };
  store(to[0], _mm256_castsi256_si128(even));
  store(to[1], _mm256_castsi256_si128(odd));
  store(to[2], _mm256_extracti128_si256(even, 1));
  store(to[3], _mm256_extracti128_si256(odd, 1));
}
inline void store_planes(const SplitCodes& x, std::uint8_t* const to[4]) {
  const __m256i order = _mm256_broadcastsi128_si256(
      _mm_setr_epi8(0, 2, 1, 3, 4, 6, 5, 7, 8, 10, 9, 11, 12, 14, 13, 15));
  store_chunks(
      SplitCodes{_mm256_shuffle_epi8(x.first, order), _mm256_shuffle_epi8(x.second, order)}, to);
}

/// For each of the 256 masks of 8 lanes, the numbers of the set lanes, ascending, then zeros.
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

}  // namespace
}  // namespace tamis::kernels
