#include "support/certificates/kinds.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>

namespace tamis::test {
namespace {

struct Named {
  Kind kind;
  std::string_view name;
};
constexpr std::array named{
    Named{Kind::normal, "normal"},
    Named{Kind::huge_logits, "huge_logits"},
    Named{Kind::denormals, "denormals"},
    Named{Kind::ties, "ties"},
    Named{Kind::one_hot, "one_hot"},
    Named{Kind::outliers, "outliers"},
    Named{Kind::zero_queries, "zero_queries"},
    Named{Kind::peaked, "peaked"},
    Named{Kind::outlier_keys, "outlier_keys"},
    Named{Kind::constant_channels, "constant_channels"},
    Named{Kind::duplicates, "duplicates"},
    Named{Kind::huge_sinks, "huge_sinks"},
    Named{Kind::value_outliers, "value_outliers"},
    Named{Kind::equal_values, "equal_values"},
    Named{Kind::two_valued, "two_valued"},
    Named{Kind::aligned, "aligned"},
    Named{Kind::giant_channel, "giant_channel"},
    Named{Kind::common_offset, "common_offset"},
    Named{Kind::tiny_queries, "tiny_queries"},
    Named{Kind::large_queries, "large_queries"},
    Named{Kind::large_keys, "large_keys"},
    Named{Kind::drift, "drift"},
    Named{Kind::signed_zeros, "signed_zeros"},
    Named{Kind::mixed_scales, "mixed_scales"},
    Named{Kind::saturated, "saturated"},
    Named{Kind::lopsided, "lopsided"},
    Named{Kind::mixed_rows, "mixed_rows"},
    Named{Kind::last_digits, "last_digits"},
    Named{Kind::value_offset, "value_offset"},
    Named{Kind::value_channel, "value_channel"},
};

/// One number of a key of kind `aligned`. Tokens 0 and 1 of a block span −1 … 1 in every channel;
/// the other tokens lie on a level of a 4-bit or 8-bit grid over that range, moved by nearly half
/// a step in the direction of `sign`. There are grids whose levels are midpoints of equal parts
/// and grids with levels at both ends.
float aligned(std::int64_t token, float sign, std::mt19937_64& random) {
  const std::int64_t place = token % page_tokens;
  if (place < 2) return place == 0 ? -1.0F : 1.0F;
  const std::int64_t block = token / page_tokens;
  const int levels = block % 2 == 0 ? 16 : 256;
  const bool ends = block / 2 % 2 == 1;
  const float step = 2.0F / static_cast<float>(ends ? levels - 1 : levels);
  const auto level = static_cast<float>(random() % static_cast<std::uint64_t>(levels));
  const float at = -1.0F + step * (ends ? level : level + 0.5F);
  const float side = place < page_tokens / 2 ? 1.0F : -1.0F;
  return std::clamp(at + side * sign * 0.49F * step, -1.0F, 1.0F);
}

/// The size 10^x of a channel, x uniform in −2 … 2; equal arguments give equal sizes.
float size_of_channel(std::size_t channel, unsigned salt) {
  const auto x =
      static_cast<float>((channel * 2654435761U + salt * 40503U) % 4001) / 1000.0F - 2.0F;
  return std::pow(10.0F, x);
}

/// The relative distance of neighbouring numbers of a dtype.
float last_digit(DType dtype) {
  return dtype == DType::f32 ? 0x1p-23F : dtype == DType::f16 ? 0x1p-10F : 0x1p-7F;
}

void change_queries(Kind kind, const Shape& shape, std::vector<float>& q, std::mt19937_64& random) {
  const bool half = shape.dtype == DType::f16;
  const auto d = static_cast<std::size_t>(shape.head_dim);
  for (std::size_t i = 0; i < q.size(); ++i) {
    float& x = q[i];
    switch (kind) {
      case Kind::zero_queries:
        x = 0.0F;
        break;
      case Kind::denormals:
        x *= half ? 0x1p16F : 0x1p124F;
        break;
      case Kind::peaked:
      case Kind::value_outliers:
      case Kind::equal_values:
      case Kind::duplicates:
      case Kind::two_valued:
      case Kind::drift:
      case Kind::value_offset:
      case Kind::value_channel:
        x *= 4.0F;
        break;
      case Kind::huge_sinks:
        x += 2.0F;
        break;
      case Kind::aligned:  // one magnitude per row, and the same signs in all rows
        x = (i / d % 2 == 0 ? 3.0F : -2.0F) * (i % d % 3 == 0 ? -1.0F : 1.0F);
        break;
      case Kind::giant_channel:
        x *= i % d == d / 2 ? (half ? 1e-4F : 1e-30F) : 3.0F;
        break;
      case Kind::tiny_queries:
        x *= 1e-30F;
        break;
      case Kind::large_queries:
        x *= half ? 1e4F : 1e30F;
        break;
      case Kind::large_keys:
        x *= half ? 1e-3F : 1e-20F;
        break;
      case Kind::mixed_scales:
        x = std::copysign(std::exp2(static_cast<float>(random() % 64) - 60.0F), x);
        break;
      case Kind::signed_zeros:
        if (random() % 2 == 0) x = -0.0F;
        break;
      case Kind::saturated:
        x = 0.5F + 0.25F * static_cast<float>(i / d % 3);
        break;
      case Kind::lopsided:
        x *= size_of_channel(i % d, 1);
        break;
      case Kind::mixed_rows:
        x *= i / d % 5 == 0 ? 0.0F : std::pow(10.0F, static_cast<float>(i / d % 5) - 2.0F);
        break;
      case Kind::last_digits:
        x /= 4 * last_digit(shape.dtype) * std::sqrt(static_cast<float>(d));
        break;
      default:
        break;
    }
  }
}

void change_keys(Kind kind, const Shape& shape, std::int64_t tokens, Numbers& numbers,
                 std::mt19937_64& random) {
  const bool half = shape.dtype == DType::f16;
  const auto d = static_cast<std::size_t>(shape.head_dim);
  for (std::size_t i = 0; i < numbers.k.size(); ++i) {
    float& x = numbers.k[i];
    const std::size_t channel = i % d;
    const std::size_t token = i / d % static_cast<std::size_t>(tokens);
    const auto wave = static_cast<float>(channel % 5);
    switch (kind) {
      case Kind::denormals:
        x *= half ? 0x1p-16F : 0x1p-128F;
        break;
      case Kind::ties:
        x = 0.25F * wave;
        break;
      case Kind::outliers:
        x *= (channel % 16 == 3 ? 100.0F : 1.0F) * (token == 0 ? 50.0F : 1.0F);
        break;
      case Kind::one_hot:
        if (token == static_cast<std::size_t>(tokens) / 2) x = 100.0F * numbers.q[channel];
        break;
      case Kind::outlier_keys:
        if (token % 50 == 17) x *= 1000.0F;
        break;
      case Kind::constant_channels:
        if (channel % 2 == 0) x = wave * (half ? 100.0F : 1e5F);
        break;
      case Kind::duplicates:
        if (token >= 7) x = numbers.k[i - 7 * d];
        break;
      case Kind::huge_sinks:
        x = token == 0 ? 3.0F : token < 4 ? x * 300.0F : x;
        break;
      case Kind::two_valued:
        x = std::copysign(1.0F, x);
        break;
      case Kind::aligned:
        x = aligned(static_cast<std::int64_t>(token), channel % 3 == 0 ? -1.0F : 1.0F, random);
        break;
      case Kind::giant_channel:
        if (channel == d / 2) x *= half ? 1e4F : 1e30F;
        break;
      case Kind::common_offset:
        x += (wave - 2.0F) * (half ? 1e3F : 1e4F);
        break;
      case Kind::large_queries:
        x *= half ? 1e-4F : 1e-30F;
        break;
      case Kind::large_keys:
        x *= half ? 1e3F : 1e20F;
        break;
      case Kind::drift:
        x *= std::exp2(3.0F * static_cast<float>(token / page_tokens % 4) - 6.0F);
        break;
      case Kind::signed_zeros:
        if (random() % 8 != 0) x = std::copysign(0.0F, x);
        break;
      case Kind::mixed_scales:
        x = std::copysign(std::exp2(static_cast<float>(random() % 64) - 60.0F), x);
        break;
      case Kind::saturated:
        x = token % page_tokens == 9 ? -1.0F : 1.0F;
        break;
      case Kind::lopsided:
        x *= size_of_channel(channel, 2);
        break;
      case Kind::last_digits:
        x = 1.0F + last_digit(shape.dtype) * static_cast<float>(random() % 4);
        break;
      default:
        break;
    }
  }
}

void change_values(Kind kind, const Shape& shape, std::int64_t tokens, std::vector<float>& v,
                   std::mt19937_64& random) {
  const bool half = shape.dtype == DType::f16;
  const auto d = static_cast<std::size_t>(shape.value_dim);
  for (std::size_t i = 0; i < v.size(); ++i) {
    float& x = v[i];
    const std::size_t token = i / d % static_cast<std::size_t>(tokens);
    if (kind == Kind::denormals) x *= half ? 0x1p-16F : 0x1p-128F;
    if (kind == Kind::value_outliers && token % 37 == 5) x *= 1000.0F;
    if (kind == Kind::equal_values && token > 0) x = v[i - d];
    if (kind == Kind::large_keys) x *= half ? 1e4F : 1e30F;
    if (kind == Kind::drift)
      x *= std::exp2(6.0F - 3.0F * static_cast<float>(token / page_tokens % 4));
    if (kind == Kind::signed_zeros && random() % 8 != 0) x = std::copysign(0.0F, x);
    if (kind == Kind::value_offset)
      x += (static_cast<float>(i % d % 5) - 2.0F) * (half ? 1e3F : 1e4F);
    if (kind == Kind::value_channel && i % d == d / 2) x *= half ? 1e4F : 1e34F;
    if (kind == Kind::mixed_scales)
      x = std::copysign(std::exp2(static_cast<float>(random() % 64) - 60.0F), x);
  }
}

}  // namespace

std::span<const Kind> all_kinds() {
  static constexpr auto kinds = [] {
    std::array<Kind, named.size()> all{};
    for (std::size_t i = 0; i < named.size(); ++i) all[i] = named[i].kind;
    return all;
  }();
  return kinds;
}

float stored(DType dtype, float x) {
  if (dtype == DType::f32) return x;
  if (dtype == DType::bf16) return to_float(to_bf16(x));
  return to_float(to_f16(std::clamp(x, -65504.0F, 65504.0F)));
}

std::vector<std::byte> bytes_of(DType dtype, std::span<const float> numbers) {
  std::vector<std::byte> bytes(numbers.size() * static_cast<std::size_t>(size_of(dtype)));
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    if (dtype == DType::f32) {
      std::memcpy(bytes.data() + 4 * i, &numbers[i], 4);
    } else {
      const std::uint16_t bits =
          dtype == DType::f16 ? to_f16(numbers[i]).bits : to_bf16(numbers[i]).bits;
      std::memcpy(bytes.data() + 2 * i, &bits, 2);
    }
  }
  return bytes;
}

std::string_view name_of(Kind kind) { return named[static_cast<std::size_t>(kind)].name; }

Numbers draw(Kind kind, Shape& shape, std::int64_t tokens, std::mt19937_64& random) {
  const auto numbers_in = [](std::int64_t rows, std::int64_t cols) {
    return std::vector<float>(static_cast<std::size_t>(rows * cols));
  };
  Numbers numbers{numbers_in(shape.rows(), shape.head_dim),
                  numbers_in(shape.kv_heads * tokens, shape.head_dim),
                  numbers_in(shape.kv_heads * tokens, shape.value_dim)};
  std::normal_distribution<float> normal;
  for (std::vector<float>* part : {&numbers.q, &numbers.k, &numbers.v})
    for (float& x : *part) x = normal(random);
  change_queries(kind, shape, numbers.q, random);
  change_keys(kind, shape, tokens, numbers, random);
  change_values(kind, shape, tokens, numbers.v, random);
  for (std::vector<float>* part : {&numbers.k, &numbers.v})
    for (float& x : *part) x = stored(shape.dtype, x);
  if (kind == Kind::huge_logits)
    shape.scale = 3000.0F / std::sqrt(static_cast<float>(shape.head_dim));
  if (kind == Kind::denormals) shape.scale = shape.dtype == DType::f16 ? 0.125F : 2.0F;
  return numbers;
}

}  // namespace tamis::test
