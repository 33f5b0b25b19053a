// The vector operations of the portable target, on vectors of one float. They are slow and simple,
// and run on every CPU. Included by a file that is compiled for this target; everything in it has
// internal linkage.
#pragma once

#include <cstdint>
#include <cstring>

namespace tamis::kernels {
namespace {

using V = float;
constexpr int W = 1;
constexpr int broadcast_rows = 4;

inline V zero() { return 0.0F; }
inline V set1(float x) { return x; }
inline V load(const float* p) { return *p; }
inline V in_register(V x) { return x; }
inline void store(float* p, V x) { *p = x; }
inline V add(V a, V b) { return a + b; }
inline V sub(V a, V b) { return a - b; }
inline V mul(V a, V b) { return a * b; }
inline V fma(V a, V b, V c) { return a * b + c; }  // two roundings: the bounds allow for both
inline V max(V a, V b) { return b > a ? b : a; }
inline V select_less(V a, V b, V yes, V no) { return a < b ? yes : no; }
inline V first_lanes(V x, int n) { return n > 0 ? x : 0.0F; }
inline V round_nearest(V x) { return __builtin_nearbyintf(x); }
inline float reduce_add(V x) { return x; }
inline float reduce_max(V x) { return x; }
inline void reduce4(const V x[4], float* out) { std::memcpy(out, x, 4 * sizeof(float)); }
inline void reduce8(const V x[8], float out[8]) { std::memcpy(out, x, 8 * sizeof(float)); }

inline V sqrt(V x) { return __builtin_sqrtf(x); }
inline V div(V a, V b) { return a / b; }

inline std::uint32_t bits_of(float x) {
  std::uint32_t bits;
  std::memcpy(&bits, &x, sizeof bits);
  return bits;
}
inline float float_of(std::uint32_t bits) {
  float x;
  std::memcpy(&x, &bits, sizeof x);
  return x;
}

/// 2^n for integral n in −126 … 127; unspecified otherwise, where the caller discards the result.
inline V power_of_two(V n) {
  if (!(n >= -126.0F && n <= 127.0F)) return 1.0F;
  const std::uint32_t bits = static_cast<std::uint32_t>(static_cast<std::int32_t>(n) + 127) << 23;
  float y;
  std::memcpy(&y, &bits, sizeof y);
  return y;
}

inline V times_power_of_two(V x, V n) { return x * power_of_two(n); }
inline V min(V a, V b) { return b < a ? b : a; }
inline std::uint32_t less_mask(V a, V b) { return a < b ? 1U : 0U; }
inline V clear_lanes(V x, std::uint32_t mask) { return (mask & 1U) != 0 ? 0.0F : x; }

/// Moves the lanes whose bit is set to the front. Here there is only one lane.
struct Packing {
  explicit Packing(std::uint32_t) {}
  [[nodiscard]] V pack(V x) const { return x; }
  void pack_bytes(const std::uint8_t* from, std::uint8_t* to) const { *to = *from; }
  void pack_numbers(int first, std::uint8_t* to) const { *to = static_cast<std::uint8_t>(first); }
};

constexpr int transposed = 1;
inline void transpose(const float* from, std::int64_t, float* to, std::int64_t) { *to = *from; }

using D = double;
inline D set1_doubles(double x) { return x; }
inline D zero_doubles() { return 0; }
inline D to_doubles(V x) { return static_cast<double>(x); }
inline D add(D a, D b) { return a + b; }
inline D sub(D a, D b) { return a - b; }
inline D mul(D a, D b) { return a * b; }
inline D fma(D a, D b, D c) { return a * b + c; }
inline D max(D a, D b) { return b > a ? b : a; }
inline D round_nearest(D x) { return __builtin_nearbyint(x); }
/// 2^n for integral n in −1022 … 1023.
inline D power_of_two(D n) {
  const std::uint64_t bits = static_cast<std::uint64_t>(static_cast<std::int64_t>(n) + 1023) << 52;
  double y;
  std::memcpy(&y, &bits, sizeof y);
  return y;
}
inline double reduce_add(D x) { return x; }
inline void store(double* p, D x) { *p = x; }

// Integers: one 32-bit lane, or two 16-bit lanes in it.
using I = std::int32_t;
inline std::int32_t lane(I x, int i) {
  return static_cast<std::int16_t>(static_cast<std::uint32_t>(x) >> (16 * i));
}
inline I zero_integers() { return 0; }
inline I in_register(I x) { return x; }
inline I load_integers(const std::int32_t* p) { return *p; }
/// For |x| below 2³⁰. Unspecified otherwise, which occurs for queries that are not finite, whose
/// results are discarded.
inline I to_integers(V x) {
  return x > -0x1p30F && x < 0x1p30F ? static_cast<std::int32_t>(__builtin_nearbyintf(x)) : 0;
}
inline V to_floats(I x) { return static_cast<float>(x); }
inline void store_shorts(std::int16_t* p, I x) { *p = static_cast<std::int16_t>(x); }
/// Byte i of a chunk of a plane holds channels planes_order(i) and planes_order(i) + 16.
inline int planes_order(int i) { return i % 4 == 1 ? i + 1 : i % 4 == 2 ? i - 1 : i; }
/// Writes nibble n, counted from the lowest, of 32 codes: byte i holds channels order(i) and
/// order(i) + 16.
template <class Order>
inline void store_nibbles(const I* x, int n, std::uint8_t* to, Order order) {
  for (int i = 0; i < 16; ++i)
    to[i] = static_cast<std::uint8_t>((x[order(i)] >> (4 * n) & 15) |
                                      (x[16 + order(i)] >> (4 * n) & 15) << 4);
}
inline int channels_order(int i) { return i; }
inline void store_planes(const I* x, std::uint8_t* low, std::uint8_t* high) {
  store_nibbles(x, 0, low, planes_order);
  store_nibbles(x, 1, high, planes_order);
}
inline void store_chunks(const I* x, std::uint8_t* low, std::uint8_t* high) {
  store_nibbles(x, 0, low, channels_order);
  store_nibbles(x, 1, high, channels_order);
}
/// 32 codes of 16 bits. The functions below store all of their nibbles in planes, lowest first.
struct SplitCodes {
  const I* codes;
};
inline SplitCodes split_codes(const I* x) { return {x}; }
inline void store_planes(const SplitCodes& x, std::uint8_t* const to[4]) {
  for (int n = 0; n < 4; ++n) store_nibbles(x.codes, n, to[n], planes_order);
}
inline void store_chunks(const SplitCodes& x, std::uint8_t* const to[4]) {
  for (int n = 0; n < 4; ++n) store_nibbles(x.codes, n, to[n], channels_order);
}
inline I add_integers(I a, I b) {  // modulo 2^32, as vectors do
  return static_cast<I>(static_cast<std::uint32_t>(a) + static_cast<std::uint32_t>(b));
}
inline std::int32_t reduce_add_integers(I x) { return x; }
inline void reduce4_integers(const I x[4], std::int32_t* out) {
  std::memcpy(out, x, 4 * sizeof(I));
}
inline I load_group(const std::uint8_t* p) {
  I x;
  std::memcpy(&x, p, sizeof x);
  return x;
}
inline void store_group(std::uint8_t* p, I x) { std::memcpy(p, &x, sizeof x); }
inline void turn_chunks(const std::uint8_t* key, std::int64_t /*stride*/, std::int64_t at,
                        I out[4]) {
  for (int g = 0; g < 4; ++g) out[g] = load_group(key + at + 4 * g);
}
inline I nibbles(I x, int part) { return (x >> (4 * part)) & 0x000F'000F; }
inline I merge_low(I high, I low) {
  return static_cast<I>((static_cast<std::uint32_t>(high) << 4 & 0xF0F0'F0F0U) |
                        (static_cast<std::uint32_t>(low) & 0x0F0F'0F0FU));
}
inline I merge_high(I high, I low) {
  return static_cast<I>((static_cast<std::uint32_t>(high) & 0xF0F0'F0F0U) |
                        (static_cast<std::uint32_t>(low) >> 4 & 0x0F0F'0F0FU));
}
inline I even_bytes(I x) { return x & 0x00FF'00FF; }
inline I odd_bytes(I x) { return (x >> 8) & 0x00FF'00FF; }
inline I broadcast_pair(const std::int16_t* p) {
  I y;
  std::memcpy(&y, p, sizeof y);
  return y;
}
inline I multiply_add(I sum, I a, I b) {
  return sum + lane(a, 0) * lane(b, 0) + lane(a, 1) * lane(b, 1);
}

/// 64-bit products of unsigned 32-bit lanes, as high and low halves.
struct Wide {
  I high;
  I low;
};
inline Wide multiply_wide(I a, std::uint32_t factor) {
  const std::uint64_t product = std::uint64_t{static_cast<std::uint32_t>(a)} * factor;
  return {static_cast<I>(product >> 32), static_cast<I>(product & 0xFFFF'FFFFU)};
}
inline I set1_integers(std::uint32_t x) { return static_cast<I>(x); }
inline I lane_numbers() { return 0; }
inline I xor_integers(I a, I b) { return a ^ b; }
inline I and_integers(I a, I b) { return a & b; }
template <int n>
inline I shift_left(I x) {
  return static_cast<I>(static_cast<std::uint32_t>(x) << n);
}
template <int n>
inline I shift_right(I x) {
  return static_cast<I>(static_cast<std::uint32_t>(x) >> n);
}
inline V as_floats(I x) { return float_of(static_cast<std::uint32_t>(x)); }
inline I as_integers(V x) { return static_cast<I>(bits_of(x)); }

struct Chunk {
  const std::uint8_t* codes;
};
inline Chunk unpack_chunk(const std::uint8_t* p) { return {p}; }
inline I multiply_chunk(I sum, const Chunk& chunk, const std::int16_t* q) {
  for (int i = 0; i < 16; ++i) {
    const int c = planes_order(i);
    sum += (chunk.codes[i] & 15) * q[c] + (chunk.codes[i] >> 4) * q[16 + c];
  }
  return sum;
}
inline void half_chunk_to_floats(const std::uint8_t* p, int half, V* out) {
  for (int i = 0; i < 16; ++i) out[i] = static_cast<float>((p[i] >> (4 * half)) & 15);
}
inline void half_plane_to_floats(const std::uint8_t* p, int half, V* out) {
  for (int i = 0; i < 16; ++i) out[planes_order(i)] = static_cast<float>((p[i] >> (4 * half)) & 15);
}

struct F32 {
  static constexpr bool interleaved = false;
  using Element = float;
  static V load(const float* p) { return *p; }
  static V load_first(const float* p, int) { return *p; }
};
struct F16 {
  static constexpr bool interleaved = false;
  using Element = std::uint16_t;
  static V load(const std::uint16_t* p) {
    const std::uint32_t magnitude = static_cast<std::uint32_t>(*p & 0x7FFFU) << 13;
    const std::uint32_t sign = static_cast<std::uint32_t>(*p & 0x8000U) << 16;
    float y;
    if (magnitude >= 0x0F80'0000U) {  // infinity or NaN
      const std::uint32_t bits = sign | 0x7F80'0000U | magnitude;
      std::memcpy(&y, &bits, sizeof y);
      return y;
    }
    std::memcpy(&y, &magnitude, sizeof y);
    y *= 0x1p112F;  // exact: moves the exponent's bias from 15 to 127, normalising denormals
    std::uint32_t bits;
    std::memcpy(&bits, &y, sizeof y);
    bits |= sign;
    std::memcpy(&y, &bits, sizeof y);
    return y;
  }
  static V load_first(const std::uint16_t* p, int) { return load(p); }
  /// For finite |x| below 65520.
  static void store_nearest(std::uint16_t* p, V x) {
    const std::uint32_t bits = bits_of(x);
    const std::uint32_t magnitude = bits & 0x7FFF'FFFFU;
    // Below 2^-14, adding ½ leaves |x| divided by 2^-24, rounded, in the low bits.
    const std::uint32_t rounded =
        magnitude < 0x3880'0000U
            ? bits_of(float_of(magnitude) + 0.5F) - bits_of(0.5F)
            : (magnitude + 0xFFFU + ((magnitude >> 13) & 1U) - (112U << 23)) >> 13;
    *p = static_cast<std::uint16_t>(((bits >> 16) & 0x8000U) | rounded);
  }
  /// Stores the smallest f16 that is at least x, for 2^-14 ≤ x ≤ 65504.
  static void store_above(std::uint16_t* p, V x) {
    *p = static_cast<std::uint16_t>((bits_of(x) + 0x1FFFU - (112U << 23)) >> 13);
  }
};
struct Bf16 {
  static constexpr bool interleaved = false;
  using Element = std::uint16_t;
  static V load(const std::uint16_t* p) {
    const std::uint32_t bits = static_cast<std::uint32_t>(*p) << 16;
    float y;
    std::memcpy(&y, &bits, sizeof y);
    return y;
  }
  static V load_first(const std::uint16_t* p, int) { return load(p); }
};

}  // namespace
}  // namespace tamis::kernels
