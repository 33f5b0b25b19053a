// Measures how many multiply-adds a second this machine does in its vectors, of 16-bit integers (pairs
// added into 32 bits, as a scan of codes does) and of f32: the roofline where bytes come fast enough.
// Loaded by bench/sieve.py; takes milliseconds. Knows x86 with AVX2 or AVX-512.
#include <cstdint>

#include "together.h"

#ifdef __AVX2__
#include <immintrin.h>

namespace {

#ifdef __AVX512BW__
using Integers = __m512i;
using Floats = __m512;
Integers integers(int x) { return _mm512_set1_epi32(x); }
Floats floats(float x) { return _mm512_set1_ps(x); }
#ifdef __AVX512VNNI__
Integers step(Integers a, Integers x) { return _mm512_dpwssd_epi32(a, x, x); }
#else
Integers step(Integers a, Integers x) { return _mm512_add_epi32(a, _mm512_madd_epi16(x, x)); }
#endif
Floats step(Floats a, Floats x) { return _mm512_fmadd_ps(x, x, a); }
int any(Integers a) { return _mm512_reduce_add_epi32(a); }
int any(Floats a) { return any(_mm512_castps_si512(a)); }
#else
using Integers = __m256i;
using Floats = __m256;
Integers integers(int x) { return _mm256_set1_epi32(x); }
Floats floats(float x) { return _mm256_set1_ps(x); }
Integers step(Integers a, Integers x) { return _mm256_add_epi32(a, _mm256_madd_epi16(x, x)); }
Floats step(Floats a, Floats x) { return _mm256_fmadd_ps(x, x, a); }
int any(Integers a) { return _mm256_movemask_epi8(a); }
int any(Floats a) { return _mm256_movemask_ps(a); }
#endif

constexpr std::int64_t rounds = 4'000'000;
volatile int sink;  // the results end here so that the compiler cannot drop the work

/// `chains` sums side by side: at least latency times issue width of their additions, few enough to stay in
/// registers.
template <int chains, class Vector>
void multiply_add(Vector value) {
  Vector sum[chains];
  for (Vector& s : sum) s = value;
  for (std::int64_t i = 0; i < rounds; ++i)
    for (Vector& s : sum) {
      asm volatile("" : "+x"(value));  // it may have changed: every product is a new one
      s = step(s, value);
    }
  int total = 0;
  for (const Vector& s : sum) total += any(s);
  sink = total;
}

/// Multiply-adds per second, `each` of them in one vector.
template <int chains, class Vector>
double rate(const int* cores, int threads, int each, Vector value) {
  double best = 0;
  for (int pass = 0; pass < 4; ++pass) {
    const double seconds = seconds_together(cores, threads, [=](int) { multiply_add<chains>(value); });
    best = best > 1 / seconds ? best : 1 / seconds;
  }
  return best * static_cast<double>(rounds) * chains * each * threads;
}

}  // namespace

extern "C" __attribute__((visibility("default"))) double bench_integer_rate(const int* cores, int threads) {
  return rate<5>(cores, threads, sizeof(Integers) / sizeof(std::int16_t), integers(0x10003));
}
extern "C" __attribute__((visibility("default"))) double bench_float_rate(const int* cores, int threads) {
  return rate<10>(cores, threads, sizeof(Floats) / sizeof(float), floats(1));
}
#else
extern "C" __attribute__((visibility("default"))) double bench_integer_rate(const int*, int) { return 0; }
extern "C" __attribute__((visibility("default"))) double bench_float_rate(const int*, int) { return 0; }
#endif
