// The f64 counterpart of a vector of floats: the same number of doubles, in registers of four.
// AVX-512 uses 256-bit registers here too, since f64 sums are a small part of any kernel. This is
// included inside a target's file, so that nothing in it has external linkage.
#pragma once

#include <immintrin.h>

namespace tamis::kernels {
namespace {

template <int R>
struct Doubles {
  __m256d x[R];
};

template <int R, class F>
inline Doubles<R> each_part(F f) {
  Doubles<R> y;
  for (int i = 0; i < R; ++i) y.x[i] = f(i);
  return y;
}

template <int R>
inline Doubles<R> add(const Doubles<R>& a, const Doubles<R>& b) {
  return each_part<R>([&](int i) { return _mm256_add_pd(a.x[i], b.x[i]); });
}
template <int R>
inline Doubles<R> sub(const Doubles<R>& a, const Doubles<R>& b) {
  return each_part<R>([&](int i) { return _mm256_sub_pd(a.x[i], b.x[i]); });
}
template <int R>
inline Doubles<R> mul(const Doubles<R>& a, const Doubles<R>& b) {
  return each_part<R>([&](int i) { return _mm256_mul_pd(a.x[i], b.x[i]); });
}
template <int R>
inline Doubles<R> max(const Doubles<R>& a, const Doubles<R>& b) {
  return each_part<R>([&](int i) { return _mm256_max_pd(a.x[i], b.x[i]); });
}
template <int R>
inline Doubles<R> fma(const Doubles<R>& a, const Doubles<R>& b, const Doubles<R>& c) {
  return each_part<R>([&](int i) { return _mm256_fmadd_pd(a.x[i], b.x[i], c.x[i]); });
}
template <int R>
inline Doubles<R> round_nearest(const Doubles<R>& a) {
  return each_part<R>([&](int i) {
    return _mm256_round_pd(a.x[i], _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
  });
}
/// 2^n for integral n in −1022 … 1023. Adding 1.5·2^52 + 1023 leaves n + 1023 in the low bits,
/// which are then shifted into the exponent.
template <int R>
inline Doubles<R> power_of_two(const Doubles<R>& n) {
  const __m256d bias = _mm256_set1_pd(0x1.8p52 + 1023);
  return each_part<R>([&](int i) {
    return _mm256_castsi256_pd(
        _mm256_slli_epi64(_mm256_castpd_si256(_mm256_add_pd(n.x[i], bias)), 52));
  });
}
template <int R>
inline double reduce_add(const Doubles<R>& a) {
  __m256d sum = a.x[0];
  for (int i = 1; i < R; ++i) sum = _mm256_add_pd(sum, a.x[i]);
  const __m128d pair = _mm_add_pd(_mm256_castpd256_pd128(sum), _mm256_extractf128_pd(sum, 1));
  return _mm_cvtsd_f64(_mm_add_sd(pair, _mm_unpackhi_pd(pair, pair)));
}
template <int R>
inline void store(double* p, const Doubles<R>& a) {
  for (int i = 0; i < R; ++i) _mm256_storeu_pd(p + 4 * i, a.x[i]);
}

}  // namespace
}  // namespace tamis::kernels
