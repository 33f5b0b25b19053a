// How the numbers of test problems are drawn: ordinary ones, and those that break careless bounds.
#pragma once

#include <cstddef>
#include <cstdint>
#include <random>
#include <span>
#include <string_view>
#include <vector>

#include <tamis/attention.h>

namespace tamis::testing {

enum class Kind : std::uint8_t {
  normal,       ///< N(0, 1)
  huge_logits,  ///< logits of ±10⁴
  denormals,  ///< keys and values in the denormal range of the dtype, queries so large that logits
              ///< are not
  ties,       ///< all keys equal
  one_hot,    ///< one key far above the rest
  outliers,   ///< some channels 100 times larger, a first key of huge norm
  zero_queries,  ///< q = 0: uniform weights
  // For engines that bound what they do not read.
  peaked,             ///< logits of deviation 4: few keys carry the weight, as in trained heads
  outlier_keys,       ///< one key in 50 a thousand times larger, which coarsens its block
  constant_channels,  ///< every second channel holds one number in all keys, some of them 0
  duplicates,         ///< 7 different keys, each of them many times
  huge_sinks,         ///< the first 4 keys 300 times larger, and every query looks at the first
  value_outliers,     ///< one value in 37 a thousand times larger
  equal_values,       ///< all values equal
  two_valued,         ///< channels are ±1: every code lies at an end of its range
  aligned,  ///< what 4 or 8 bits miss of a key lies along the query: Cauchy–Schwarz is attained
  giant_channel,  ///< one channel as large as the dtype allows, which queries scale down
  common_offset,  ///< keys share a vector 10⁴ times larger than their differences: cancellation
  tiny_queries,   ///< q of 10⁻³⁰
  large_queries,  ///< q of 10³⁰ over keys so small that logits are ordinary
  large_keys,     ///< keys and values whose squares overflow f32
  drift,          ///< each block of 128 keys 8 times larger than the last, then small again
  signed_zeros,   ///< most numbers are 0 or −0
  mixed_scales,   ///< every number 2^x with x uniform in −60 … 3
  saturated,   ///< one key in 128 is −1, all others +1, and all query channels are equal: largest
               ///< sums
  lopsided,    ///< channels of queries and keys of sizes from 10⁻² to 10²
  mixed_rows,  ///< one query 0, the others of sizes from 10⁻¹ to 10²
  last_digits,    ///< keys differ in the last digit of their dtype only, under queries that see it
  value_offset,   ///< values share a vector 10⁴ times larger than their differences
  value_channel,  ///< one channel of the values as large as the dtype allows
};

std::span<const Kind> all_kinds();
std::string_view name_of(Kind kind);

/// The number of a dtype that is nearest to x, the largest ones of f16 standing in for what is
/// beyond them.
float stored(DType dtype, float x);
/// Numbers that a dtype holds, as they lie in memory.
std::vector<std::byte> bytes_of(DType dtype, std::span<const float> numbers);

struct Numbers {
  std::vector<float> q;  ///< shape.rows() × head_dim
  std::vector<float> k;  ///< kv_heads × tokens × head_dim, values that shape.dtype can hold
  std::vector<float> v;  ///< kv_heads × tokens × value_dim, the same
};

/// Draws the numbers of a problem; may change shape.scale, which some kinds need.
Numbers draw(Kind kind, Shape& shape, std::int64_t tokens, std::mt19937_64& random);

}  // namespace tamis::testing
