// The vector operations of AVX-512 (F, BW, DQ, VL), on vectors of sixteen floats. Included by a
// file that is compiled for this target; everything in it has internal linkage.
#pragma once

#include <immintrin.h>

#include <cstdint>

#include "kernels/doubles_x86.h"
#include "kernels/pack_x86.h"
#include "kernels/transpose_x86.h"
#include "kernels/turn_avx512.h"

namespace tamis::kernels {
namespace {

using V = __m512;
constexpr int W = 16;
// 24 sums, 2 vectors of the tile and 1 broadcast use 27 of 32 registers.
constexpr int broadcast_rows = 12;

inline V zero() { return _mm512_setzero_ps(); }
inline V set1(float x) { return _mm512_set1_ps(x); }
inline V load(const float* p) { return _mm512_loadu_ps(p); }
inline V in_register(V x) {  // keeps the compiler from loading x again for every use
  asm("" : "+v"(x));
  return x;
}
inline void store(float* p, V x) { _mm512_storeu_ps(p, x); }
inline V add(V a, V b) { return _mm512_add_ps(a, b); }
inline V sub(V a, V b) { return _mm512_sub_ps(a, b); }
inline V mul(V a, V b) { return _mm512_mul_ps(a, b); }
inline V fma(V a, V b, V c) { return _mm512_fmadd_ps(a, b, c); }
inline V max(V a, V b) { return _mm512_max_ps(a, b); }
inline V select_less(V a, V b, V yes, V no) {
  return _mm512_mask_blend_ps(_mm512_cmp_ps_mask(a, b, _CMP_LT_OQ), no, yes);
}
inline V round_nearest(V x) {
  return _mm512_roundscale_ps(x, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
}
inline V power_of_two(V n) {
  return _mm512_castsi512_ps(
      _mm512_slli_epi32(_mm512_add_epi32(_mm512_cvtps_epi32(n), _mm512_set1_epi32(127)), 23));
}

inline __mmask16 first_mask(int n) { return static_cast<__mmask16>((1U << n) - 1U); }
inline V first_lanes(V x, int n) { return _mm512_maskz_mov_ps(first_mask(n), x); }

inline __m256 halves_added(V x) {
  return _mm256_add_ps(_mm512_castps512_ps256(x), _mm512_extractf32x8_ps(x, 1));
}

/// out[i] is the sum of x[i]'s lanes. Here and in reduce8 the two halves are added, then summed as
/// on AVX2.
inline void reduce4(const V x[4], float* out) {
  const __m256 a = _mm256_hadd_ps(_mm256_hadd_ps(halves_added(x[0]), halves_added(x[1])),
                                  _mm256_hadd_ps(halves_added(x[2]), halves_added(x[3])));
  _mm_storeu_ps(out, _mm_add_ps(_mm256_castps256_ps128(a), _mm256_extractf128_ps(a, 1)));
}
inline void reduce8(const V x[8], float out[8]) {
  __m256 h[8];
  for (int i = 0; i < 8; ++i) h[i] = halves_added(x[i]);
  const __m256 a = _mm256_hadd_ps(_mm256_hadd_ps(h[0], h[1]), _mm256_hadd_ps(h[2], h[3]));
  const __m256 b = _mm256_hadd_ps(_mm256_hadd_ps(h[4], h[5]), _mm256_hadd_ps(h[6], h[7]));
  _mm256_storeu_ps(
      out, _mm256_add_ps(_mm256_permute2f128_ps(a, b, 0x20), _mm256_permute2f128_ps(a, b, 0x31)));
}
inline float reduce_add(V x) { return _mm512_reduce_add_ps(x); }
inline float reduce_max(V x) { return _mm512_reduce_max_ps(x); }

inline V sqrt(V x) { return _mm512_sqrt_ps(x); }
inline V div(V a, V b) { return _mm512_div_ps(a, b); }

/// x·2^n for 0.5 ≤ x ≤ 2.
inline V times_power_of_two(V x, V n) { return _mm512_scalef_ps(x, n); }
inline V min(V a, V b) { return _mm512_min_ps(a, b); }
inline std::uint32_t less_mask(V a, V b) { return _mm512_cmp_ps_mask(a, b, _CMP_LT_OQ); }
/// Lane i becomes 0 where bit i of the mask is set.
inline V clear_lanes(V x, std::uint32_t mask) {
  return _mm512_maskz_mov_ps(static_cast<__mmask16>(~mask & 0xFFFFU), x);
}

/// Moves the lanes whose bit is set to the front; the lanes after them are unspecified.
struct Packing {
  explicit Packing(std::uint32_t set) : mask(static_cast<__mmask16>(set)) {}
  [[nodiscard]] V pack(V x) const { return _mm512_maskz_compress_ps(mask, x); }
  void pack_bytes(const std::uint8_t* from, std::uint8_t* to) const {
    const __m512i x = _mm512_cvtepu8_epi32(_mm_loadu_si128(reinterpret_cast<const __m128i*>(from)));
    _mm_storeu_si128(reinterpret_cast<__m128i*>(to),
                     _mm512_cvtepi32_epi8(_mm512_maskz_compress_epi32(mask, x)));
  }
  /// Packs the numbers first, first + 1, … of the lanes.
  void pack_numbers(int first, std::uint8_t* to) const {
    alignas(16) std::uint8_t numbers[16];
    for (int i = 0; i < 16; ++i) numbers[i] = static_cast<std::uint8_t>(first + i);
    pack_bytes(numbers, to);
  }
  __mmask16 mask;
};

using D = Doubles<4>;
inline D set1_doubles(double x) {
  return each_part<4>([&](int) { return _mm256_set1_pd(x); });
}
inline D zero_doubles() { return set1_doubles(0); }
inline D to_doubles(V x) {
  const __m256 low = _mm512_castps512_ps256(x);
  const __m256 high = _mm512_extractf32x8_ps(x, 1);
  return {{_mm256_cvtps_pd(_mm256_castps256_ps128(low)),
           _mm256_cvtps_pd(_mm256_extractf128_ps(low, 1)),
           _mm256_cvtps_pd(_mm256_castps256_ps128(high)),
           _mm256_cvtps_pd(_mm256_extractf128_ps(high, 1))}};
}

// Integers: sixteen 32-bit lanes or thirty-two 16-bit lanes.
using I = __m512i;
inline I zero_integers() { return _mm512_setzero_si512(); }
inline I in_register(I x) {
  asm("" : "+v"(x));
  return x;
}
inline I load_integers(const std::int32_t* p) { return _mm512_loadu_si512(p); }
inline I to_integers(V x) { return _mm512_cvtps_epi32(x); }
inline V to_floats(I x) { return _mm512_cvtepi32_ps(x); }
inline void store_shorts(std::int16_t* p, I x) {
  _mm256_storeu_si256(reinterpret_cast<__m256i*>(p), _mm512_cvtepi32_epi16(x));
}
inline __m256i to_codes(const I x[2]) {
  return _mm256_inserti128_si256(_mm256_castsi128_si256(_mm512_cvtepi32_epi8(x[0])),
                                 _mm512_cvtepi32_epi8(x[1]), 1);
}
inline void store_planes(const I x[2], std::uint8_t* low, std::uint8_t* high) {
  store_planes(to_codes(x), low, high);
}
inline void store_chunks(const I x[2], std::uint8_t* low, std::uint8_t* high) {
  store_chunks(to_codes(x), low, high);
}
inline I add_integers(I a, I b) { return _mm512_add_epi32(a, b); }
inline std::int32_t reduce_add_integers(I x) { return _mm512_reduce_add_epi32(x); }
inline __m256i halves_added(I x) {
  return _mm256_add_epi32(_mm512_castsi512_si256(x), _mm512_extracti64x4_epi64(x, 1));
}
inline void reduce4_integers(const I x[4], std::int32_t* out) {
  const __m256i a = _mm256_hadd_epi32(_mm256_hadd_epi32(halves_added(x[0]), halves_added(x[1])),
                                      _mm256_hadd_epi32(halves_added(x[2]), halves_added(x[3])));
  _mm_storeu_si128(reinterpret_cast<__m128i*>(out),
                   _mm_add_epi32(_mm256_castsi256_si128(a), _mm256_extracti128_si256(a, 1)));
}
/// 4 bytes of each of sixteen keys, as a high plane stores them.
inline I load_group(const std::uint8_t* p) { return _mm512_loadu_si512(p); }
inline void store_group(std::uint8_t* p, I x) { _mm512_storeu_si512(p, x); }
inline void turn_chunks(const std::uint8_t* keys, std::int64_t stride, std::int64_t at, I out[4]) {
  turn_sixteen(keys, stride, at, out);
}
inline I nibbles(I x, int part) {
  return _mm512_and_si512(_mm512_srli_epi16(x, static_cast<unsigned>(4 * part)),
                          _mm512_set1_epi16(15));
}
/// The 8-bit codes, from a high and a low plane, of the channels in low nibbles; merge_high gives
/// those of the channels in high nibbles.
inline I merge_low(I high, I low) {
  return select_bits(_mm512_set1_epi8(15), low, _mm512_slli_epi16(high, 4));
}
inline I merge_high(I high, I low) {
  return select_bits(_mm512_set1_epi8(15), _mm512_srli_epi16(low, 4), high);
}
inline I even_bytes(I x) { return _mm512_and_si512(x, _mm512_set1_epi16(255)); }
inline I odd_bytes(I x) { return _mm512_srli_epi16(x, 8); }
inline SplitCodes split_codes(const I x[2]) {
  // Packing works within quarters of a register, each with four low bytes of each x, then four
  // high bytes.
  static constexpr std::int32_t numbers[16] = {0, 4, 8, 12, 2, 6, 10, 14,
                                               1, 5, 9, 13, 3, 7, 11, 15};
  const I both = _mm512_packus_epi32(x[0], x[1]);
  const I bytes = _mm512_packus_epi16(even_bytes(both), odd_bytes(both));
  const I ordered = _mm512_permutexvar_epi32(_mm512_loadu_si512(numbers), bytes);
  return {_mm512_castsi512_si256(ordered), _mm512_extracti64x4_epi64(ordered, 1)};
}
inline I broadcast_pair(const std::int16_t* p) {
  int pair;
  __builtin_memcpy(&pair, p, sizeof pair);
  return _mm512_set1_epi32(pair);
}
inline I multiply_add(I sum, I a, I b) { return _mm512_add_epi32(sum, _mm512_madd_epi16(a, b)); }

/// 64-bit products of unsigned 32-bit lanes, as high and low halves.
struct Wide {
  I high;
  I low;
};
inline Wide multiply_wide(I a, std::uint32_t factor) {
  const I m = _mm512_set1_epi32(static_cast<int>(factor));
  const I even = _mm512_mul_epu32(a, m);
  const I odd = _mm512_mul_epu32(_mm512_srli_epi64(a, 32), m);
  return {_mm512_mask_blend_epi32(0xAAAA, _mm512_srli_epi64(even, 32), odd),
          _mm512_mask_blend_epi32(0xAAAA, even, _mm512_slli_epi64(odd, 32))};
}
inline I set1_integers(std::uint32_t x) { return _mm512_set1_epi32(static_cast<int>(x)); }
inline I lane_numbers() {
  static constexpr std::int32_t numbers[16] = {0, 1, 2,  3,  4,  5,  6,  7,
                                               8, 9, 10, 11, 12, 13, 14, 15};
  return _mm512_loadu_si512(numbers);
}
inline I xor_integers(I a, I b) { return _mm512_xor_si512(a, b); }
inline I and_integers(I a, I b) { return _mm512_and_si512(a, b); }
template <int n>
inline I shift_left(I x) {
  return _mm512_slli_epi32(x, n);
}
template <int n>
inline I shift_right(I x) {
  return _mm512_srli_epi32(x, n);
}
inline V as_floats(I x) { return _mm512_castsi512_ps(x); }
inline I as_integers(V x) { return _mm512_castps_si512(x); }

struct Chunk {
  I codes;
};
inline Chunk unpack_chunk(const std::uint8_t* p) {
  const __m256i bytes =
      _mm256_cvtepu8_epi16(exchange_bytes(_mm_loadu_si128(reinterpret_cast<const __m128i*>(p))));
  return {_mm512_inserti64x4(_mm512_castsi256_si512(_mm256_and_si256(bytes, _mm256_set1_epi16(15))),
                             _mm256_srli_epi16(bytes, 4), 1)};
}
inline I multiply_chunk(I sum, const Chunk& chunk, const std::int16_t* q) {
  return multiply_add(sum, chunk.codes, _mm512_loadu_si512(q));
}
inline void half_to_floats(__m128i x, int half, V* out) {
  x = _mm_and_si128(half == 0 ? x : _mm_srli_epi16(x, 4), _mm_set1_epi8(15));
  out[0] = _mm512_cvtepi32_ps(_mm512_cvtepu8_epi32(x));
}
inline void half_chunk_to_floats(const std::uint8_t* p, int half, V* out) {
  half_to_floats(_mm_loadu_si128(reinterpret_cast<const __m128i*>(p)), half, out);
}
inline void half_plane_to_floats(const std::uint8_t* p, int half, V* out) {
  half_to_floats(exchange_bytes(_mm_loadu_si128(reinterpret_cast<const __m128i*>(p))), half, out);
}

struct F32 {
  static constexpr bool interleaved = false;
  using Element = float;
  static V load(const float* p) { return _mm512_loadu_ps(p); }
  static V load_first(const float* p, int n) { return _mm512_maskz_loadu_ps(first_mask(n), p); }
};
struct F16 {
  static constexpr bool interleaved = false;
  using Element = std::uint16_t;
  static V load(const std::uint16_t* p) {
    return _mm512_cvtph_ps(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(p)));
  }
  static V load_first(const std::uint16_t* p, int n) {
    return _mm512_cvtph_ps(_mm256_maskz_loadu_epi16(first_mask(n), p));
  }
  static void store_nearest(std::uint16_t* p, V x) {
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(p),
                        _mm512_cvtps_ph(x, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC));
  }
  static void store_above(std::uint16_t* p, V x) {
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(p),
                        _mm512_cvtps_ph(x, _MM_FROUND_TO_POS_INF | _MM_FROUND_NO_EXC));
  }
};
struct Bf16 {
  static constexpr bool interleaved = true;
  using Element = std::uint16_t;
  static V widen(__m256i x) {
    return _mm512_castsi512_ps(_mm512_slli_epi32(_mm512_cvtepu16_epi32(x), 16));
  }
  static V load(const std::uint16_t* p) {
    return widen(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(p)));
  }
  static V load_first(const std::uint16_t* p, int n) {
    return widen(_mm256_maskz_loadu_epi16(first_mask(n), p));
  }
  static __m512i words(const std::uint16_t* p) { return _mm512_loadu_si512(p); }
  static V load_even(const std::uint16_t* p) {
    return _mm512_castsi512_ps(_mm512_slli_epi32(words(p), 16));
  }
  static V load_odd(const std::uint16_t* p) {
    return _mm512_castsi512_ps(
        _mm512_and_si512(words(p), _mm512_set1_epi32(static_cast<int>(0xFFFF'0000U))));
  }
};

}  // namespace
}  // namespace tamis::kernels
