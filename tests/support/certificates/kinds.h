// The kinds of numbers in test problems: ordinary ones, and those that break careless bounds.
#pragma once

#include <cstddef>
#include <cstdint>
#include <random>
#include <span>
#include <string_view>
#include <vector>

#include <tamis/attention.h>

namespace tamis::test {

enum class Kind : std::uint8_t {
  normal,       ///< N(0, 1)
  huge_logits,  ///< logits of ±10⁴
  denormals,  ///< keys and values are denormals of the dtype, queries so large that logits are not
  ties,       ///< all keys equal
  one_hot,    ///< one key far above the rest
  outliers,   ///< some channels 100 times larger, and a first key of huge norm
  zero_queries,  ///< q = 0: uniform weights
  // Kinds aimed at engines that bound what they do not read.
  peaked,             ///< logits of deviation 4: few keys carry the weight, as in trained heads
  outlier_keys,       ///< one key in 50 a thousand times larger, which coarsens its block
  constant_channels,  ///< every second channel holds one number in all keys, some of them 0
  duplicates,         ///< 7 different keys, each many times
  huge_sinks,         ///< the first 4 keys 300 times larger, and every query points to the first
  value_outliers,     ///< one value in 37 a thousand times larger
  equal_values,       ///< all values equal
  two_valued,         ///< channels are ±1, so that every code lies at an end of its range
  aligned,  ///< coding errors at 4 or 8 bits lie along the query, which attains Cauchy–Schwarz
  giant_channel,  ///< one channel near the largest number of the dtype; queries scale it down
  common_offset,  ///< keys share a vector 10⁴ times larger than their differences: cancellation
  tiny_queries,   ///< q of 10⁻³⁰
  large_queries,  ///< q of 10³⁰ over keys so small that logits are ordinary
  large_keys,     ///< keys and values with squares that overflow f32
  drift,  ///< each block of 128 keys 8 times larger than the last, for 4 blocks, then small again
  signed_zeros,   ///< most numbers are 0 or −0
  mixed_scales,   ///< every number is ±2^x with x an integer drawn from −60 … 3
  saturated,      ///< one key in 128 is all −1, others +1, query channels equal: the largest sums
  lopsided,       ///< channels of queries and keys differ in size, from 10⁻² to 10²
  mixed_rows,     ///< one query in 5 is 0, the others have sizes from 10⁻¹ to 10²
  last_digits,    ///< keys differ only in their last digit, and queries make this visible
  value_offset,   ///< values share a vector 10⁴ times larger than their differences
  value_channel,  ///< one channel of the values near the largest number of the dtype
};

std::span<const Kind> all_kinds();
std::string_view name_of(Kind kind);

/// The number of a dtype that is nearest to x; numbers beyond the range of f16 become its largest.
float stored(DType dtype, float x);
/// Converts numbers to a dtype and returns their bytes.
std::vector<std::byte> bytes_of(DType dtype, std::span<const float> numbers);

struct Numbers {
  std::vector<float> q;  ///< shape.rows() × head_dim
  std::vector<float> k;  ///< kv_heads × tokens × head_dim, values that shape.dtype can hold
  std::vector<float> v;  ///< kv_heads × tokens × value_dim, values that shape.dtype can hold
};

/// Draws the numbers of a problem. Changes shape.scale for kinds that need a scale of their own.
Numbers draw(Kind kind, Shape& shape, std::int64_t tokens, std::mt19937_64& random);

}  // namespace tamis::test
