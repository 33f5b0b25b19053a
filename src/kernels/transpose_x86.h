// Transposes blocks of 8 × 8 floats in registers. This is included inside a target's file, so that
// nothing in it has external linkage.
#pragma once

#include <immintrin.h>

#include <cstdint>

namespace tamis::kernels {
namespace {

constexpr int transposed = 8;

/// to[i·to_stride + j] = from[j·from_stride + i], i, j < transposed.
inline void transpose(const float* from, std::int64_t from_stride, float* to,
                      std::int64_t to_stride) {
  // Halves of two rows that are four rows apart share a register, so that no later step crosses the
  // halves of a register.
  __m256 x[8];
  for (int i = 0; i < 4; ++i) {
    const float* low = from + i * from_stride;
    const float* high = low + 4 * from_stride;
    x[i] = _mm256_insertf128_ps(_mm256_castps128_ps256(_mm_loadu_ps(low)), _mm_loadu_ps(high), 1);
    x[i + 4] = _mm256_insertf128_ps(_mm256_castps128_ps256(_mm_loadu_ps(low + 4)),
                                    _mm_loadu_ps(high + 4), 1);
  }
  for (int half = 0; half < 2; ++half) {
    const __m256* r = x + 4 * half;
    const __m256 a = _mm256_unpacklo_ps(r[0], r[1]);
    const __m256 b = _mm256_unpackhi_ps(r[0], r[1]);
    const __m256 c = _mm256_unpacklo_ps(r[2], r[3]);
    const __m256 d = _mm256_unpackhi_ps(r[2], r[3]);
    float* out = to + 4 * half * to_stride;
    _mm256_storeu_ps(out, _mm256_shuffle_ps(a, c, 0x44));
    _mm256_storeu_ps(out + to_stride, _mm256_shuffle_ps(a, c, 0xEE));
    _mm256_storeu_ps(out + 2 * to_stride, _mm256_shuffle_ps(b, d, 0x44));
    _mm256_storeu_ps(out + 3 * to_stride, _mm256_shuffle_ps(b, d, 0xEE));
  }
}

}  // namespace
}  // namespace tamis::kernels
