// AVX-512 on a CPU that has only AVX2: the intrinsics used in src/kernels/avx512.cpp and vnni.cpp,
// one lane at a time, as the instruction set reference defines them. The tests compile these files
// a second time with this header found before the compiler's, and run them on machines where the
// real targets cannot run.
#pragma once

#include_next <immintrin.h>

#include <cmath>
#include <cstdint>
#include <cstring>

namespace tamis::emulated {

typedef float m512 __attribute__((vector_size(64), may_alias));
typedef std::int32_t m512i __attribute__((vector_size(64), may_alias));
constexpr int lanes = 16;

inline m512 each(auto f) {
  m512 y;
  for (int i = 0; i < lanes; ++i) y[i] = f(i);
  return y;
}
inline m512i each_integer(auto f) {
  m512i y;
  for (int i = 0; i < lanes; ++i) y[i] = f(i);
  return y;
}
inline bool bit(std::uint32_t mask, int i) { return ((mask >> i) & 1U) != 0; }
template <class To, class From>
To cast(const From& x) {
  static_assert(sizeof(To) <= sizeof(From));
  To y;
  std::memcpy(&y, &x, sizeof y);
  return y;
}
template <class To>
To read(const void* p) {
  To y;
  std::memcpy(&y, p, sizeof y);
  return y;
}
inline std::uint16_t half(const __m256i& x, int i) {
  return read<std::uint16_t>(reinterpret_cast<const char*>(&x) + 2 * i);
}

inline m512 set1(float x) {
  return each([&](int) { return x; });
}
inline m512 max(m512 a, m512 b) {
  return each([&](int i) { return a[i] > b[i] ? a[i] : b[i]; });
}
inline m512 fmadd(m512 a, m512 b, m512 c) {
  return each([&](int i) { return std::fma(a[i], b[i], c[i]); });
}
inline __mmask16 less(m512 a, m512 b) {
  unsigned mask = 0;
  for (int i = 0; i < lanes; ++i) mask |= (a[i] < b[i] ? 1U : 0U) << i;
  return static_cast<__mmask16>(mask);
}
inline m512 blend(__mmask16 k, m512 a, m512 b) {
  return each([&](int i) { return bit(k, i) ? b[i] : a[i]; });
}
/// The result of cvtps2dq: the nearest integer, or INT_MIN outside the range and for NaN.
inline std::int32_t nearest(float x) {
  return x >= -0x1p31F && x < 0x1p31F ? static_cast<std::int32_t>(std::nearbyint(x)) : INT32_MIN;
}
inline __m256 half_of(m512 x, int which) {
  return read<__m256>(reinterpret_cast<const char*>(&x) + 32 * which);
}
/// Combines the lanes in the order of GCC's own definition: halves, quarters, then pairs.
inline float fold(m512 x, auto f) {
  for (int width = lanes / 2; width > 0; width /= 2)
    for (int i = 0; i < width; ++i) x[i] = f(x[i], x[i + width]);
  return x[0];
}
inline __m256i first_halves(__mmask16 k, const void* p) {
  std::uint16_t x[lanes] = {};
  for (int i = 0; i < lanes; ++i)
    if (bit(k, i)) x[i] = read<std::uint16_t>(static_cast<const char*>(p) + 2 * i);
  return read<__m256i>(x);
}

inline m512i first_bytes(std::uint64_t k, const void* p) {
  unsigned char x[64] = {};
  for (int i = 0; i < 64; ++i)
    if ((k >> i & 1U) != 0) x[i] = static_cast<const unsigned char*>(p)[i];
  return read<m512i>(x);
}

/// 16-bit lane i of the 32 lanes.
inline std::int16_t short_of(const m512i& x, int i) {
  return read<std::int16_t>(reinterpret_cast<const char*>(&x) + 2 * i);
}
inline m512i each_short(auto f) {
  std::int16_t y[2 * lanes];
  for (int i = 0; i < 2 * lanes; ++i) y[i] = static_cast<std::int16_t>(f(i));
  return read<m512i>(y);
}
inline std::uint8_t byte_of(const void* x, int i) { return static_cast<const std::uint8_t*>(x)[i]; }
/// Keeps the lowest bits of each 32-bit lane.
template <class Narrow, class To>
To narrow(m512i x) {
  Narrow y[lanes];
  for (int i = 0; i < lanes; ++i) y[i] = static_cast<Narrow>(x[i]);
  return read<To>(y);
}
inline m512i madd(m512i sum, m512i a, m512i b) {
  return each_integer([&](int i) {
    return sum[i] + short_of(a, 2 * i) * short_of(b, 2 * i) +
           short_of(a, 2 * i + 1) * short_of(b, 2 * i + 1);
  });
}
inline m512i from_halves(__m256i low, __m256i high) {
  const __m256i both[2] = {low, high};
  return read<m512i>(both);
}
inline __m256i integer_half_of(m512i x, int which) {
  return read<__m256i>(reinterpret_cast<const char*>(&x) + 32 * which);
}
inline std::int32_t sum_of(m512i x) {
  std::int32_t sum = 0;
  for (int i = 0; i < lanes; ++i) sum += x[i];
  return sum;
}
/// The lanes whose bit is set, in order, followed by zeros.
template <class Vector>
Vector compress(__mmask16 k, Vector x) {
  Vector y{};
  for (int i = 0, n = 0; i < lanes; ++i)
    if (bit(k, i)) y[n++] = x[i];
  return y;
}
/// Alternates quarters of a and b, with lanes made half as wide, saturated and unsigned.
template <class From, class To>
m512i pack(m512i a, m512i b) {
  constexpr int n = 16 / sizeof(From);  // lanes of a quarter
  From x[4 * n], y[4 * n];
  To z[8 * n];
  std::memcpy(x, &a, sizeof x);
  std::memcpy(y, &b, sizeof y);
  for (int i = 0; i < 8 * n; ++i) {
    const From from = i % (2 * n) < n ? x[i / (2 * n) * n + i % n] : y[i / (2 * n) * n + i % n];
    z[i] = static_cast<To>(from < 0 ? 0 : from > static_cast<To>(-1) ? static_cast<To>(-1) : from);
  }
  return read<m512i>(z);
}
/// 64-bit lane i of the 8 lanes.
inline std::uint64_t long_of(const m512i& x, int i) {
  return read<std::uint64_t>(reinterpret_cast<const char*>(&x) + 8 * i);
}
inline m512i each_long(auto f) {
  std::uint64_t y[lanes / 2];
  for (int i = 0; i < lanes / 2; ++i) y[i] = f(i);
  return read<m512i>(y);
}
/// Alternates lanes of a and b, taken from the first or second half of every 128 bits.
template <class Lane>
m512i interleave(m512i a, m512i b, int half) {
  constexpr int n = 16 / sizeof(Lane);
  Lane x[4 * n], y[4 * n], z[4 * n];
  std::memcpy(x, &a, sizeof x);
  std::memcpy(y, &b, sizeof y);
  for (int i = 0; i < 4 * n; ++i) {
    const int from = i / n * n + half * n / 2 + i % n / 2;
    z[i] = i % 2 == 0 ? x[from] : y[from];
  }
  return read<m512i>(z);
}
template <int how>
m512i ternary(m512i a, m512i b, m512i c) {
  static_assert(how == 0xCA, "the only one that is emulated");
  return (a & b) | (~a & c);
}
inline __m256i low_bytes(m512i x) {
  std::uint8_t y[32];
  for (int i = 0; i < 32; ++i) y[i] = static_cast<std::uint8_t>(short_of(x, i));
  return read<__m256i>(y);
}
/// Adds the products of unsigned bytes of a and signed bytes of b, four per lane.
inline m512i dot_bytes(m512i sum, m512i a, m512i b) {
  return each_integer([&](int i) {
    std::int32_t total = sum[i];
    for (int s = 4 * i; s < 4 * i + 4; ++s)
      total += byte_of(&a, s) * static_cast<std::int8_t>(byte_of(&b, s));
    return total;
  });
}
/// Converts sixteen floats to f16 with rounding mode `how`.
template <int how>
__m256i halves(m512 x) {
  std::uint16_t y[lanes];
  for (int i = 0; i < lanes; ++i) y[i] = _cvtss_sh(x[i], how);
  return read<__m256i>(y);
}

}  // namespace tamis::emulated

#define __m512 tamis::emulated::m512
#define __m512i tamis::emulated::m512i
#define _mm512_setzero_ps() tamis::emulated::set1(0.0F)
#define _mm512_set1_ps(x) tamis::emulated::set1(x)
#define _mm512_loadu_ps(p) tamis::emulated::read<tamis::emulated::m512>(p)
#define _mm512_loadu_si512(p) tamis::emulated::read<tamis::emulated::m512i>(p)
#define _mm512_storeu_ps(p, x)         \
  tamis::emulated::m512 stored_ = (x); \
  std::memcpy(p, &stored_, sizeof stored_)
#define _mm512_add_ps(a, b) ((a) + (b))
#define _mm512_sub_ps(a, b) ((a) - (b))
#define _mm512_mul_ps(a, b) ((a) * (b))
#define _mm512_fmadd_ps(a, b, c) tamis::emulated::fmadd(a, b, c)
#define _mm512_max_ps(a, b) tamis::emulated::max(a, b)
#define _mm512_cmp_ps_mask(a, b, how) (static_assert_less<how>(), tamis::emulated::less(a, b))
#define _mm512_mask_blend_ps(k, a, b) tamis::emulated::blend(k, a, b)
#define _mm512_roundscale_ps(x, how)                                                       \
  tamis::emulated::each([v_ = (x)](int i) {                                                \
    return ((how)&_MM_FROUND_TO_NEG_INF) != 0 ? std::floor(v_[i]) : std::nearbyint(v_[i]); \
  })
#define _mm512_min_ps(a, b) \
  tamis::emulated::each([a_ = (a), b_ = (b)](int i) { return a_[i] < b_[i] ? a_[i] : b_[i]; })
#define _mm512_setzero_si512() tamis::emulated::each_integer([](int) { return 0; })
#define _mm512_set1_epi16(x) tamis::emulated::each_short([](int) { return (x); })
#define _mm512_cvtepi32_ps(x) \
  tamis::emulated::each([v_ = (x)](int i) { return static_cast<float>(v_[i]); })
#define _mm512_cvtepi32_epi16(x) tamis::emulated::narrow<std::int16_t, __m256i>(x)
#define _mm512_cvtepi32_epi8(x) tamis::emulated::narrow<std::int8_t, __m128i>(x)
#define _mm512_cvtepu8_epi32(x)  \
  tamis::emulated::each_integer( \
      [v_ = (x)](int i) { return std::int32_t{tamis::emulated::byte_of(&v_, i)}; })
#define _mm512_srli_epi16(x, n)                                                \
  tamis::emulated::each_short([v_ = (x), n_ = (n)](int i) {                    \
    return static_cast<std::uint16_t>(tamis::emulated::short_of(v_, i)) >> n_; \
  })
#define _mm512_madd_epi16(a, b) tamis::emulated::madd(_mm512_setzero_si512(), a, b)
#define _mm512_reduce_add_epi32(x) tamis::emulated::sum_of(x)
#define _mm512_castsi512_si256(x) tamis::emulated::integer_half_of(x, 0)
#define _mm512_extracti64x4_epi64(x, which) tamis::emulated::integer_half_of(x, which)
#define _mm512_castsi256_si512(x) (x)
#define _mm512_inserti64x4(low, high, at) tamis::emulated::from_halves(low, high)
#define _mm512_cvtps_epi32(x) \
  tamis::emulated::each_integer([v_ = (x)](int i) { return tamis::emulated::nearest(v_[i]); })
#define _mm512_set1_epi32(x) tamis::emulated::each_integer([v_ = (x)](int) { return v_; })
#define _mm512_add_epi32(a, b)                                           \
  tamis::emulated::each_integer([a_ = (a), b_ = (b)](int i) {            \
    return static_cast<std::int32_t>(static_cast<std::uint32_t>(a_[i]) + \
                                     static_cast<std::uint32_t>(b_[i])); \
  })
#define _mm512_and_si512(a, b) ((a) & (b))
#define _mm512_slli_epi32(x, n)                                                 \
  tamis::emulated::each_integer([v_ = (x)](int i) {                             \
    return static_cast<std::int32_t>(static_cast<std::uint32_t>(v_[i]) << (n)); \
  })
#define _mm512_castsi512_ps(x) tamis::emulated::cast<tamis::emulated::m512>(x)
#define _mm512_castps_si512(x) tamis::emulated::cast<tamis::emulated::m512i>(x)
#define _mm512_castps512_ps256(x) tamis::emulated::half_of(x, 0)
#define _mm512_extractf32x8_ps(x, which) tamis::emulated::half_of(x, which)
#define _mm512_reduce_add_ps(x) tamis::emulated::fold(x, [](float a, float b) { return a + b; })
#define _mm512_reduce_max_ps(x) \
  tamis::emulated::fold(x, [](float a, float b) { return a > b ? a : b; })
#define _mm512_maskz_mov_ps(k, x) tamis::emulated::blend(k, tamis::emulated::set1(0.0F), x)
#define _mm512_maskz_compress_ps(k, x) tamis::emulated::compress(k, x)
#define _mm512_maskz_compress_epi32(k, x) tamis::emulated::compress(k, x)
#define _mm512_maskz_loadu_ps(k, p) \
  tamis::emulated::each(            \
      [k_ = (k), p_ = (p)](int i) { return tamis::emulated::bit(k_, i) ? p_[i] : 0.0F; })
#define _mm256_maskz_loadu_epi16(k, p) tamis::emulated::first_halves(k, p)
#define _mm512_maskz_loadu_epi8(k, p) tamis::emulated::first_bytes(k, p)
#define _mm512_cvtph_ps(x) \
  tamis::emulated::each([v_ = (x)](int i) { return _cvtsh_ss(tamis::emulated::half(v_, i)); })
#define _mm512_cvtps_ph(x, how) tamis::emulated::halves<how>(x)
#define _mm512_sqrt_ps(x) tamis::emulated::each([v_ = (x)](int i) { return std::sqrt(v_[i]); })
#define _mm512_div_ps(a, b) ((a) / (b))
#define _mm512_scalef_ps(a, b)                                     \
  tamis::emulated::each([a_ = (a), b_ = (b)](int i) {              \
    return std::ldexp(a_[i], static_cast<int>(std::floor(b_[i]))); \
  })
#define _mm512_srli_epi32(x, n)                                                 \
  tamis::emulated::each_integer([v_ = (x)](int i) {                             \
    return static_cast<std::int32_t>(static_cast<std::uint32_t>(v_[i]) >> (n)); \
  })
#define _mm512_mul_epu32(a, b)                               \
  tamis::emulated::each_long([a_ = (a), b_ = (b)](int i) {   \
    return (tamis::emulated::long_of(a_, i) & 0xFFFFFFFFU) * \
           (tamis::emulated::long_of(b_, i) & 0xFFFFFFFFU);  \
  })
#define _mm512_srli_epi64(x, n) \
  tamis::emulated::each_long([v_ = (x)](int i) { return tamis::emulated::long_of(v_, i) >> (n); })
#define _mm512_slli_epi64(x, n) \
  tamis::emulated::each_long([v_ = (x)](int i) { return tamis::emulated::long_of(v_, i) << (n); })
#define _mm512_mask_blend_epi32(k, a, b) \
  tamis::emulated::each_integer(         \
      [a_ = (a), b_ = (b)](int i) { return tamis::emulated::bit(k, i) ? b_[i] : a_[i]; })
#define _mm512_xor_si512(a, b) ((a) ^ (b))
#define _mm512_storeu_si512(p, x)            \
  tamis::emulated::m512i stored_bits_ = (x); \
  std::memcpy(p, &stored_bits_, sizeof stored_bits_)
#define _mm512_unpacklo_epi32(a, b) tamis::emulated::interleave<std::uint32_t>(a, b, 0)
#define _mm512_unpackhi_epi32(a, b) tamis::emulated::interleave<std::uint32_t>(a, b, 1)
#define _mm512_unpacklo_epi64(a, b) tamis::emulated::interleave<std::uint64_t>(a, b, 0)
#define _mm512_unpackhi_epi64(a, b) tamis::emulated::interleave<std::uint64_t>(a, b, 1)
#define _mm512_packus_epi32(a, b) tamis::emulated::pack<std::int32_t, std::uint16_t>(a, b)
#define _mm512_packus_epi16(a, b) tamis::emulated::pack<std::int16_t, std::uint8_t>(a, b)
#define _mm512_permutexvar_epi32(which, x) \
  tamis::emulated::each_integer([w_ = (which), v_ = (x)](int i) { return v_[w_[i] & 15]; })
#define _mm512_ternarylogic_epi32(a, b, c, how) tamis::emulated::ternary<how>(a, b, c)
#define _mm512_set1_epi8(x) tamis::emulated::each_short([](int) { return (x)*0x0101; })
#define _mm512_slli_epi16(x, n)                                                 \
  tamis::emulated::each_short([v_ = (x)](int i) {                               \
    return static_cast<std::uint16_t>(tamis::emulated::short_of(v_, i)) << (n); \
  })
#define _mm512_srai_epi16(x, n) \
  tamis::emulated::each_short([v_ = (x)](int i) { return tamis::emulated::short_of(v_, i) >> (n); })
#define _mm512_add_epi16(a, b)                                                  \
  tamis::emulated::each_short([a_ = (a), b_ = (b)](int i) {                     \
    return tamis::emulated::short_of(a_, i) + tamis::emulated::short_of(b_, i); \
  })
#define _mm512_sub_epi16(a, b)                                                  \
  tamis::emulated::each_short([a_ = (a), b_ = (b)](int i) {                     \
    return tamis::emulated::short_of(a_, i) - tamis::emulated::short_of(b_, i); \
  })
#define _mm512_cvtepi16_epi8(x) tamis::emulated::low_bytes(x)
#define _mm512_dpbusd_epi32(sum, a, b) tamis::emulated::dot_bytes(sum, a, b)
#define _mm512_cvtepu16_epi32(x) \
  tamis::emulated::each_integer( \
      [v_ = (x)](int i) { return static_cast<std::int32_t>(tamis::emulated::half(v_, i)); })

/// Fails to compile unless `how` is the one comparison that is emulated.
template <int how>
constexpr void static_assert_less() {
  static_assert(how == _CMP_LT_OQ);
}

// The kernels use asm to keep 512-bit vectors in registers. Emulated vectors have no such
// register, so asm does nothing here.
#define asm(...) static_cast<void>(0)
