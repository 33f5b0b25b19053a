// Names and sizes of element types, and correctly rounded conversions of the 16-bit floats, which
// are the reference for the conversions that the kernels do in hardware.
#include <tamis/dtype.h>

#include <array>
#include <bit>

#include "core/fail.h"

namespace tamis {
namespace {

struct Entry {
  std::string_view name;
  std::int64_t size;
};

constexpr std::array<Entry, 13> entries{{{"f16", 2},
                                         {"bf16", 2},
                                         {"f32", 4},
                                         {"f64", 8},
                                         {"i8", 1},
                                         {"i16", 2},
                                         {"i32", 4},
                                         {"i64", 8},
                                         {"u8", 1},
                                         {"u16", 2},
                                         {"u32", 4},
                                         {"u64", 8},
                                         {"bool", 1}}};

const Entry& entry(DType dtype) {
  const auto i = static_cast<std::size_t>(dtype);
  if (i >= entries.size())
    core::fail(Code::usage, "dtype {} is not one of the {} that tamis knows", i, entries.size());
  return entries[i];
}

}  // namespace

std::int64_t size_of(DType dtype) { return entry(dtype).size; }
std::string_view name_of(DType dtype) { return entry(dtype).name; }

float to_float(f16 x) {
  const std::uint32_t sign = static_cast<std::uint32_t>(x.bits & 0x8000U) << 16;
  const std::uint32_t exponent = (x.bits >> 10) & 0x1FU;
  const std::uint32_t fraction = x.bits & 0x3FFU;
  if (exponent == 0) {  // zero or denormal: fraction · 2^-24, exact in f32
    const float magnitude = static_cast<float>(fraction) * 0x1p-24F;
    return std::bit_cast<float>(std::bit_cast<std::uint32_t>(magnitude) | sign);
  }
  const std::uint32_t wide = exponent == 31 ? 0xFFU : exponent + 112;  // bias 15 → 127
  return std::bit_cast<float>(sign | (wide << 23) | (fraction << 13));
}

f16 to_f16(float x) {
  const auto bits = std::bit_cast<std::uint32_t>(x);
  const auto sign = static_cast<std::uint16_t>((bits >> 16) & 0x8000U);
  const std::uint32_t magnitude = bits & 0x7FFF'FFFFU;
  const auto with_sign = [sign](std::uint32_t value) {
    return f16{static_cast<std::uint16_t>(sign | value)};
  };
  if (magnitude > 0x7F80'0000U) return with_sign(0x7E00U | ((magnitude >> 13) & 0x3FFU));  // NaN
  if (magnitude >= 0x477F'F000U) return with_sign(0x7C00U);  // ≥ 65520 rounds to infinity
  if (magnitude < 0x3880'0000U) {                            // below 2^-14: denormal result
    // Adding ½ leaves |x| divided by 2^-24, rounded to nearest even by the FPU, in the low bits.
    const float shifted = std::bit_cast<float>(magnitude) + 0.5F;
    return with_sign(std::bit_cast<std::uint32_t>(shifted) - std::bit_cast<std::uint32_t>(0.5F));
  }
  const std::uint32_t rounded = magnitude + 0xFFFU + ((magnitude >> 13) & 1U);
  return with_sign((rounded - (112U << 23)) >> 13);
}

bf16 to_bf16(float x) {
  const auto bits = std::bit_cast<std::uint32_t>(x);
  if ((bits & 0x7FFF'FFFFU) > 0x7F80'0000U)
    return {static_cast<std::uint16_t>((bits >> 16) | 0x40U)};
  return {static_cast<std::uint16_t>((bits + 0x7FFFU + ((bits >> 16) & 1U)) >> 16)};
}

}  // namespace tamis
