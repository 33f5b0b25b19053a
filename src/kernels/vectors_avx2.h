// The vector operations of AVX2 with FMA and F16C, on vectors of eight floats. Included by a file
// that is compiled for this target; everything in it has internal linkage.
#pragma once

#include <immintrin.h>

#include <cstdint>

#include "kernels/doubles_x86.h"
#include "kernels/pack_x86.h"
#include "kernels/transpose_x86.h"

namespace tamis::kernels {
namespace {

using V = __m256;
constexpr int W = 8;
// 12 sums, 2 vectors of the tile and 1 broadcast use 15 of 16 registers.
constexpr int broadcast_rows = 6;

inline V zero() { return _mm256_setzero_ps(); }
inline V set1(float x) { return _mm256_set1_ps(x); }
inline V load(const float* p) { return _mm256_loadu_ps(p); }
inline V in_register(V x) {  // keeps the compiler from loading x again for every use
  asm("" : "+x"(x));
  return x;
}
inline void store(float* p, V x) { _mm256_storeu_ps(p, x); }
inline V add(V a, V b) { return _mm256_add_ps(a, b); }
inline V sub(V a, V b) { return _mm256_sub_ps(a, b); }
inline V mul(V a, V b) { return _mm256_mul_ps(a, b); }
inline V fma(V a, V b, V c) { return _mm256_fmadd_ps(a, b, c); }
inline V max(V a, V b) { return _mm256_max_ps(a, b); }
inline V select_less(V a, V b, V yes, V no) {
  return _mm256_blendv_ps(no, yes, _mm256_cmp_ps(a, b, _CMP_LT_OQ));
}
inline V round_nearest(V x) {
  return _mm256_round_ps(x, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
}
inline V power_of_two(V n) {
  return _mm256_castsi256_ps(
      _mm256_slli_epi32(_mm256_add_epi32(_mm256_cvtps_epi32(n), _mm256_set1_epi32(127)), 23));
}

inline __m256i first_mask(int n) {
  return _mm256_cmpgt_epi32(_mm256_set1_epi32(n), _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7));
}
inline V first_lanes(V x, int n) { return _mm256_and_ps(x, _mm256_castsi256_ps(first_mask(n))); }

/// out[i] is the sum of x[i]'s lanes, ((0+1)+(2+3)) + ((4+5)+(6+7)), here and in reduce8.
inline void reduce4(const V x[4], float* out) {
  const V a = _mm256_hadd_ps(_mm256_hadd_ps(x[0], x[1]), _mm256_hadd_ps(x[2], x[3]));
  _mm_storeu_ps(out, _mm_add_ps(_mm256_castps256_ps128(a), _mm256_extractf128_ps(a, 1)));
}
inline void reduce8(const V x[8], float out[8]) {
  const V a = _mm256_hadd_ps(_mm256_hadd_ps(x[0], x[1]), _mm256_hadd_ps(x[2], x[3]));
  const V b = _mm256_hadd_ps(_mm256_hadd_ps(x[4], x[5]), _mm256_hadd_ps(x[6], x[7]));
  const V low = _mm256_permute2f128_ps(a, b, 0x20);
  const V high = _mm256_permute2f128_ps(a, b, 0x31);
  store(out, add(low, high));
}
inline float reduce_add(V x) {
  const __m128 s = _mm_add_ps(_mm256_castps256_ps128(x), _mm256_extractf128_ps(x, 1));
  const __m128 t = _mm_add_ps(s, _mm_movehl_ps(s, s));
  return _mm_cvtss_f32(_mm_add_ss(t, _mm_movehdup_ps(t)));
}
inline float reduce_max(V x) {
  const __m128 s = _mm_max_ps(_mm256_castps256_ps128(x), _mm256_extractf128_ps(x, 1));
  const __m128 t = _mm_max_ps(s, _mm_movehl_ps(s, s));
  return _mm_cvtss_f32(_mm_max_ss(t, _mm_movehdup_ps(t)));
}

inline V sqrt(V x) { return _mm256_sqrt_ps(x); }
inline V div(V a, V b) { return _mm256_div_ps(a, b); }

/// The first n < 8 16-bit elements, followed by zeros, as there is no masked load for them.
inline __m128i load_first_halves(const std::uint16_t* p, int n) {
  alignas(16) std::uint16_t x[8] = {};
  for (int i = 0; i < n; ++i) x[i] = p[i];
  return _mm_load_si128(reinterpret_cast<const __m128i*>(x));
}

/// x·2^n for 0.5 ≤ x ≤ 2, by adding n to the exponent.
inline V times_power_of_two(V x, V n) {
  return _mm256_castsi256_ps(
      _mm256_add_epi32(_mm256_castps_si256(x), _mm256_slli_epi32(_mm256_cvtps_epi32(n), 23)));
}
inline V min(V a, V b) { return _mm256_min_ps(a, b); }
inline std::uint32_t less_mask(V a, V b) {
  return static_cast<std::uint32_t>(_mm256_movemask_ps(_mm256_cmp_ps(a, b, _CMP_LT_OQ)));
}
/// Lane i becomes 0 where bit i of the mask is set.
inline V clear_lanes(V x, std::uint32_t mask) {
  const __m256i bit = _mm256_setr_epi32(1, 2, 4, 8, 16, 32, 64, 128);
  const __m256i set = _mm256_and_si256(_mm256_set1_epi32(static_cast<int>(mask)), bit);
  return _mm256_and_ps(x, _mm256_castsi256_ps(_mm256_cmpeq_epi32(set, _mm256_setzero_si256())));
}

/// Moves the lanes whose bit is set to the front; the lanes after them are unspecified.
struct Packing {
  explicit Packing(std::uint32_t mask)
      : bytes(_mm_loadl_epi64(reinterpret_cast<const __m128i*>(set_lanes.of[mask]))),
        lanes(_mm256_cvtepu8_epi32(bytes)) {}
  [[nodiscard]] V pack(V x) const { return _mm256_permutevar8x32_ps(x, lanes); }
  void pack_bytes(const std::uint8_t* from, std::uint8_t* to) const {
    const __m128i x = _mm_loadl_epi64(reinterpret_cast<const __m128i*>(from));
    _mm_storel_epi64(reinterpret_cast<__m128i*>(to), _mm_shuffle_epi8(x, bytes));
  }
  /// Packs the numbers first, first + 1, … of the lanes.
  void pack_numbers(int first, std::uint8_t* to) const {
    _mm_storel_epi64(reinterpret_cast<__m128i*>(to),
                     _mm_add_epi8(bytes, _mm_set1_epi8(static_cast<char>(first))));
  }
  __m128i bytes;
  __m256i lanes;
};

using D = Doubles<2>;
inline D set1_doubles(double x) { return {{_mm256_set1_pd(x), _mm256_set1_pd(x)}}; }
inline D zero_doubles() { return set1_doubles(0); }
inline D to_doubles(V x) {
  return {
      {_mm256_cvtps_pd(_mm256_castps256_ps128(x)), _mm256_cvtps_pd(_mm256_extractf128_ps(x, 1))}};
}

// Integers: eight 32-bit lanes or sixteen 16-bit lanes.
using I = __m256i;
inline I zero_integers() { return _mm256_setzero_si256(); }
inline I in_register(I x) {
  asm("" : "+x"(x));
  return x;
}
inline I load_integers(const std::int32_t* p) {
  return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(p));
}
inline I to_integers(V x) { return _mm256_cvtps_epi32(x); }
inline V to_floats(I x) { return _mm256_cvtepi32_ps(x); }
inline __m128i to_shorts(I x) {
  return _mm_packs_epi32(_mm256_castsi256_si128(x), _mm256_extracti128_si256(x, 1));
}
inline void store_shorts(std::int16_t* p, I x) {
  _mm_storeu_si128(reinterpret_cast<__m128i*>(p), to_shorts(x));
}
inline I to_codes(const I x[4]) {
  const I bytes =
      _mm256_packus_epi16(_mm256_packs_epi32(x[0], x[1]), _mm256_packs_epi32(x[2], x[3]));
  // Packing works within halves of a register, so each half has four codes of each x.
  return _mm256_permutevar8x32_epi32(bytes, _mm256_setr_epi32(0, 4, 1, 5, 2, 6, 3, 7));
}
inline void store_planes(const I x[4], std::uint8_t* low, std::uint8_t* high) {
  store_planes(to_codes(x), low, high);
}
inline void store_chunks(const I x[4], std::uint8_t* low, std::uint8_t* high) {
  store_chunks(to_codes(x), low, high);
}
inline I add_integers(I a, I b) { return _mm256_add_epi32(a, b); }
inline std::int32_t reduce_add_integers(I x) {
  const __m128i s = _mm_add_epi32(_mm256_castsi256_si128(x), _mm256_extracti128_si256(x, 1));
  const __m128i t = _mm_add_epi32(s, _mm_shuffle_epi32(s, 0x4E));
  return _mm_cvtsi128_si32(_mm_add_epi32(t, _mm_shuffle_epi32(t, 0xB1)));
}
inline void reduce4_integers(const I x[4], std::int32_t* out) {
  const I a = _mm256_hadd_epi32(_mm256_hadd_epi32(x[0], x[1]), _mm256_hadd_epi32(x[2], x[3]));
  _mm_storeu_si128(reinterpret_cast<__m128i*>(out),
                   _mm_add_epi32(_mm256_castsi256_si128(a), _mm256_extracti128_si256(a, 1)));
}
/// 4 bytes of each of eight keys, as a high plane stores them.
inline I load_group(const std::uint8_t* p) {
  return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(p));
}
inline void store_group(std::uint8_t* p, I x) {
  _mm256_storeu_si256(reinterpret_cast<__m256i*>(p), x);
}
/// Transposes four groups of 4 bytes, which lie in 16 bytes of each of eight keys, so that keys run
/// along lanes.
inline void turn_chunks(const std::uint8_t* keys, std::int64_t stride, std::int64_t at, I out[4]) {
  const auto sixteen = [&](int j) {
    return _mm_loadu_si128(reinterpret_cast<const __m128i*>(keys + j * stride + at));
  };
  I x[4];  // keys i and i + 4
  for (int i = 0; i < 4; ++i)
    x[i] = _mm256_inserti128_si256(_mm256_castsi128_si256(sixteen(i)), sixteen(i + 4), 1);
  const I a = _mm256_unpacklo_epi32(x[0], x[1]);
  const I b = _mm256_unpackhi_epi32(x[0], x[1]);
  const I c = _mm256_unpacklo_epi32(x[2], x[3]);
  const I d = _mm256_unpackhi_epi32(x[2], x[3]);
  out[0] = _mm256_unpacklo_epi64(a, c);
  out[1] = _mm256_unpackhi_epi64(a, c);
  out[2] = _mm256_unpacklo_epi64(b, d);
  out[3] = _mm256_unpackhi_epi64(b, d);
}
inline I nibbles(I x, int part) {
  return _mm256_and_si256(_mm256_srli_epi16(x, 4 * part), _mm256_set1_epi16(15));
}
/// The 8-bit codes, from a high and a low plane, of the channels in low nibbles; merge_high gives
/// those of the channels in high nibbles.
inline I merge_low(I high, I low) {
  const I nibble = _mm256_set1_epi8(15);
  return _mm256_or_si256(_mm256_and_si256(low, nibble),
                         _mm256_andnot_si256(nibble, _mm256_slli_epi16(high, 4)));
}
inline I merge_high(I high, I low) {
  const I nibble = _mm256_set1_epi8(15);
  return _mm256_or_si256(_mm256_and_si256(_mm256_srli_epi16(low, 4), nibble),
                         _mm256_andnot_si256(nibble, high));
}
inline I even_bytes(I x) { return _mm256_and_si256(x, _mm256_set1_epi16(255)); }
inline I odd_bytes(I x) { return _mm256_srli_epi16(x, 8); }
inline SplitCodes split_codes(const I x[4]) {
  const I order = _mm256_setr_epi32(0, 4, 1, 5, 2, 6, 3, 7);  // as in to_codes
  const auto half = [&](I a, I b) {
    const I both = _mm256_packus_epi32(a, b);
    return _mm256_permutevar8x32_epi32(_mm256_packus_epi16(even_bytes(both), odd_bytes(both)),
                                       order);
  };
  return {half(x[0], x[1]), half(x[2], x[3])};
}
inline I broadcast_pair(const std::int16_t* p) {
  int pair;
  __builtin_memcpy(&pair, p, sizeof pair);
  return _mm256_set1_epi32(pair);
}
inline I multiply_add(I sum, I a, I b) { return _mm256_add_epi32(sum, _mm256_madd_epi16(a, b)); }

/// 64-bit products of unsigned 32-bit lanes, as high and low halves.
struct Wide {
  I high;
  I low;
};
inline Wide multiply_wide(I a, std::uint32_t factor) {
  const I m = _mm256_set1_epi32(static_cast<int>(factor));
  const I even = _mm256_mul_epu32(a, m);
  const I odd = _mm256_mul_epu32(_mm256_srli_epi64(a, 32), m);
  return {_mm256_blend_epi32(_mm256_srli_epi64(even, 32), odd, 0xAA),
          _mm256_blend_epi32(even, _mm256_slli_epi64(odd, 32), 0xAA)};
}
inline I set1_integers(std::uint32_t x) { return _mm256_set1_epi32(static_cast<int>(x)); }
inline I lane_numbers() { return _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7); }
inline I xor_integers(I a, I b) { return _mm256_xor_si256(a, b); }
inline I and_integers(I a, I b) { return _mm256_and_si256(a, b); }
template <int n>
inline I shift_left(I x) {
  return _mm256_slli_epi32(x, n);
}
template <int n>
inline I shift_right(I x) {
  return _mm256_srli_epi32(x, n);
}
inline V as_floats(I x) { return _mm256_castsi256_ps(x); }
inline I as_integers(V x) { return _mm256_castps_si256(x); }

struct Chunk {
  I first;
  I second;
};
inline Chunk unpack_chunk(const std::uint8_t* p) {
  const I bytes =
      _mm256_cvtepu8_epi16(exchange_bytes(_mm_loadu_si128(reinterpret_cast<const __m128i*>(p))));
  return {_mm256_and_si256(bytes, _mm256_set1_epi16(15)), _mm256_srli_epi16(bytes, 4)};
}
inline I multiply_chunk(I sum, const Chunk& chunk, const std::int16_t* q) {
  const auto* at = reinterpret_cast<const __m256i*>(q);
  return multiply_add(multiply_add(sum, chunk.first, _mm256_loadu_si256(at)), chunk.second,
                      _mm256_loadu_si256(at + 1));
}
inline void half_to_floats(__m128i x, int half, V* out) {
  x = _mm_and_si128(half == 0 ? x : _mm_srli_epi16(x, 4), _mm_set1_epi8(15));
  out[0] = _mm256_cvtepi32_ps(_mm256_cvtepu8_epi32(x));
  out[1] = _mm256_cvtepi32_ps(_mm256_cvtepu8_epi32(_mm_srli_si128(x, 8)));
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
  static V load(const float* p) { return _mm256_loadu_ps(p); }
  static V load_first(const float* p, int n) { return _mm256_maskload_ps(p, first_mask(n)); }
};
struct F16 {
  static constexpr bool interleaved = false;
  using Element = std::uint16_t;
  static V load(const std::uint16_t* p) {
    return _mm256_cvtph_ps(_mm_loadu_si128(reinterpret_cast<const __m128i*>(p)));
  }
  static V load_first(const std::uint16_t* p, int n) {
    return _mm256_cvtph_ps(load_first_halves(p, n));
  }
  static void store_nearest(std::uint16_t* p, V x) {
    _mm_storeu_si128(reinterpret_cast<__m128i*>(p),
                     _mm256_cvtps_ph(x, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC));
  }
  static void store_above(std::uint16_t* p, V x) {
    _mm_storeu_si128(reinterpret_cast<__m128i*>(p),
                     _mm256_cvtps_ph(x, _MM_FROUND_TO_POS_INF | _MM_FROUND_NO_EXC));
  }
};
struct Bf16 {
  static constexpr bool interleaved = true;
  using Element = std::uint16_t;
  static V widen(__m128i x) {
    return _mm256_castsi256_ps(_mm256_slli_epi32(_mm256_cvtepu16_epi32(x), 16));
  }
  static V load(const std::uint16_t* p) {
    return widen(_mm_loadu_si128(reinterpret_cast<const __m128i*>(p)));
  }
  static V load_first(const std::uint16_t* p, int n) { return widen(load_first_halves(p, n)); }
  static __m256i words(const std::uint16_t* p) {
    return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(p));
  }
  static V load_even(const std::uint16_t* p) {
    return _mm256_castsi256_ps(_mm256_slli_epi32(words(p), 16));
  }
  static V load_odd(const std::uint16_t* p) {
    return _mm256_castsi256_ps(
        _mm256_and_si256(words(p), _mm256_set1_epi32(static_cast<int>(0xFFFF'0000U))));
  }
};

}  // namespace
}  // namespace tamis::kernels
