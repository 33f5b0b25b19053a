#include "arrays.h"

#include <string>

#include <tamis/error.h>

namespace tamis::python {

namespace nb = nanobind;

DType dtype_of(const ArrayIn& array, bool is_bf16, std::string_view name) {
  const nb::dlpack::dtype dtype = array.dtype();
  if (is_bf16 && dtype == nb::dtype<std::uint16_t>()) return DType::bf16;
  if (dtype == nb::dlpack::dtype{static_cast<std::uint8_t>(nb::dlpack::dtype_code::Float), 16, 1})
    return DType::f16;
  if (dtype == nb::dtype<float>()) return DType::f32;
  if (dtype == nb::dtype<double>()) return DType::f64;
  if (dtype == nb::dtype<bool>()) return DType::boolean;
  if (dtype == nb::dtype<std::int8_t>()) return DType::i8;
  if (dtype == nb::dtype<std::int16_t>()) return DType::i16;
  if (dtype == nb::dtype<std::int32_t>()) return DType::i32;
  if (dtype == nb::dtype<std::int64_t>()) return DType::i64;
  if (dtype == nb::dtype<std::uint8_t>()) return DType::u8;
  if (dtype == nb::dtype<std::uint16_t>()) return DType::u16;
  if (dtype == nb::dtype<std::uint32_t>()) return DType::u32;
  if (dtype == nb::dtype<std::uint64_t>()) return DType::u64;
  throw Error(Code::usage, std::string(name) + " holds numbers of a type that tamis does not know");
}

const void* data_of(const ArrayIn& array) {
  static const std::uint64_t nothing = 0;
  return array.data() != nullptr ? array.data() : &nothing;
}

}  // namespace tamis::python
