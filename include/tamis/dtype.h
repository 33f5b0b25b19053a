// Element types of tensors, and the two 16-bit floats as plain structs.
#pragma once

#include <bit>
#include <cstdint>
#include <string_view>

#include <tamis/export.h>

namespace tamis {

enum class DType : std::uint8_t {
  f16,
  bf16,
  f32,
  f64,
  i8,
  i16,
  i32,
  i64,
  u8,
  u16,
  u32,
  u64,
  boolean
};

/// The size of one element in bytes.
TAMIS_API std::int64_t size_of(DType dtype);
/// "f16", "bf16", "f32", …, as printed in messages and JSON.
TAMIS_API std::string_view name_of(DType dtype);

/// IEEE binary16. The bits are public because files and caches store them.
struct f16 {
  std::uint16_t bits = 0;
};

/// bfloat16: the upper half of a binary32.
struct bf16 {
  std::uint16_t bits = 0;
};

/// Exact, since every f16 and bf16, denormals included, is also a float.
TAMIS_API float to_float(f16 x);
inline float to_float(bf16 x) {
  return std::bit_cast<float>(static_cast<std::uint32_t>(x.bits) << 16);
}
inline float to_float(float x) { return x; }

/// Rounds to nearest, ties to even. Overflow gives infinity, and NaN stays NaN (made quiet).
TAMIS_API f16 to_f16(float x);
TAMIS_API bf16 to_bf16(float x);

}  // namespace tamis
