// Transposes codes of sixteen keys, 512 bits at a time, for the targets that have AVX-512.
#pragma once

#include <immintrin.h>

#include <cstdint>

namespace tamis::kernels {
namespace {

/// The bits of `yes` where the mask is set, those of `no` elsewhere.
inline __m512i select_bits(__m512i mask, __m512i yes, __m512i no) {
  return _mm512_ternarylogic_epi32(mask, yes, no, 0xCA);
}

/// Transposes four groups of 4 bytes, which lie in 16 bytes of each of sixteen keys, so that keys
/// run along lanes.
inline __attribute__((always_inline)) void turn_sixteen(const std::uint8_t* keys,
                                                        std::int64_t stride, std::int64_t at,
                                                        __m512i out[4]) {
  const auto sixteen = [&](int j) {
    return _mm_loadu_si128(reinterpret_cast<const __m128i*>(keys + j * stride + at));
  };
  __m512i x[4];  // keys i, i + 4, i + 8 and i + 12
  for (int i = 0; i < 4; ++i) {
    const __m256i first =
        _mm256_inserti128_si256(_mm256_castsi128_si256(sixteen(i)), sixteen(i + 4), 1);
    const __m256i second =
        _mm256_inserti128_si256(_mm256_castsi128_si256(sixteen(i + 8)), sixteen(i + 12), 1);
    x[i] = _mm512_inserti64x4(_mm512_castsi256_si512(first), second, 1);
  }
  const __m512i a = _mm512_unpacklo_epi32(x[0], x[1]);
  const __m512i b = _mm512_unpackhi_epi32(x[0], x[1]);
  const __m512i c = _mm512_unpacklo_epi32(x[2], x[3]);
  const __m512i d = _mm512_unpackhi_epi32(x[2], x[3]);
  out[0] = _mm512_unpacklo_epi64(a, c);
  out[1] = _mm512_unpackhi_epi64(a, c);
  out[2] = _mm512_unpacklo_epi64(b, d);
  out[3] = _mm512_unpackhi_epi64(b, d);
}

}  // namespace
}  // namespace tamis::kernels
