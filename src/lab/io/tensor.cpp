// Tensors in memory: allocation, and conversion of their elements to other types.
#include <tamis/lab/tensor.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <type_traits>

#include "core/atomic_file.h"
#include "core/fail.h"
#include "core/text.h"
#include "lab/io/tensor_values.h"

// The file formats are little endian and tensors keep their bytes as they are.
static_assert(std::endian::native == std::endian::little);

namespace tamis::lab {
namespace {

/// Calls `use` with a value of the C++ type that `dtype` names.
template <class Use>
decltype(auto) with_type_of(DType dtype, Use&& use) {
  switch (dtype) {
    case DType::f16:
      return use(f16{});
    case DType::bf16:
      return use(bf16{});
    case DType::f32:
      return use(float{});
    case DType::f64:
      return use(double{});
    case DType::i8:
      return use(std::int8_t{});
    case DType::i16:
      return use(std::int16_t{});
    case DType::i32:
      return use(std::int32_t{});
    case DType::i64:
      return use(std::int64_t{});
    case DType::u8:
      return use(std::uint8_t{});
    case DType::u16:
      return use(std::uint16_t{});
    case DType::u32:
      return use(std::uint32_t{});
    case DType::u64:
      return use(std::uint64_t{});
    case DType::boolean:
      return use(bool{});
  }
  core::fail(Code::usage, "dtype {} is not one that tamis knows", static_cast<int>(dtype));
}

template <class Out, class T>
Out value_as(T x) {
  if constexpr (std::is_same_v<T, f16> || std::is_same_v<T, bf16>) {
    return to_float(x);
  } else {
    return static_cast<Out>(x);
  }
}

template <class Out>
void convert(DType dtype, const std::byte* data, std::span<Out> out) {
  with_type_of(dtype, [&]<class T>(T) {
    for (std::size_t i = 0; i < out.size(); ++i) {
      if constexpr (std::is_same_v<T, bool>) {
        out[i] = data[i] != std::byte{0} ? 1 : 0;  // a file may hold bytes other than 0 and 1
      } else {
        T x;
        std::memcpy(&x, data + i * sizeof(T), sizeof(T));
        out[i] = value_as<Out>(x);
      }
    }
  });
}

template <class Out>
std::vector<Out> converted(const Tensor& tensor) {
  const std::size_t element = static_cast<std::size_t>(size_of(tensor.info().dtype));
  std::vector<Out> out(tensor.bytes().size() / element);
  convert<Out>(tensor.info().dtype, tensor.bytes().data(), out);
  return out;
}

/// The index of the first element whose exponent bits are all ones, which is infinite or NaN.
/// Working in blocks keeps the common case free of branches.
template <class Bits>
std::optional<std::int64_t> first_with_full_exponent(std::span<const std::byte> bytes,
                                                     Bits exponent) {
  constexpr std::size_t block = 1024;
  const std::size_t count = bytes.size() / sizeof(Bits);
  const auto* data =
      reinterpret_cast<const Bits*>(bytes.data());  // tensors are aligned to 64 bytes
  const auto full = [exponent](Bits x) { return (x & exponent) == exponent; };
  for (std::size_t begin = 0; begin < count; begin += block) {
    const std::size_t end = std::min(count, begin + block);
    unsigned any = 0;
    for (std::size_t i = begin; i < end; ++i) any |= full(data[i]) ? 1U : 0U;
    if (any != 0) return std::find_if(data + begin, data + end, full) - data;
  }
  return std::nullopt;
}

}  // namespace

std::optional<std::int64_t> io::bytes_of(DType dtype, std::span<const std::int64_t> shape) {
  if (std::ranges::any_of(shape, [](std::int64_t n) { return n < 0; })) return std::nullopt;
  if (std::ranges::find(shape, 0) != shape.end()) return 0;
  std::int64_t bytes = size_of(dtype);
  for (const std::int64_t n : shape) {
    if (__builtin_mul_overflow(bytes, n, &bytes)) return std::nullopt;
  }
  return bytes;
}

std::int64_t TensorInfo::elements() const {
  const auto total = io::bytes_of(dtype, shape);
  if (!total)
    core::fail(Code::usage,
               "tensor {} cannot have the shape {}: dimensions must not be negative and its bytes "
               "must fit 63 bits",
               core::quote(name), core::shape_text(shape));
  return *total / size_of(dtype);
}

Tensor::Tensor(TensorInfo info) : info_(std::move(info)) {
  constexpr std::size_t alignment = 64;
  const auto bytes = static_cast<std::size_t>(info_.bytes());
  const std::size_t padded = std::max(alignment, (bytes + alignment - 1) / alignment * alignment);
  data_.reset(static_cast<std::byte*>(std::aligned_alloc(alignment, padded)));
  if (!data_)
    core::fail(Code::internal, "there is no memory for the {} bytes of tensor {}", bytes,
               core::quote(info_.name));
  std::memset(data_.get(), 0, padded);
}

void Tensor::Free::operator()(std::byte* p) const { std::free(p); }

std::vector<float> Tensor::to_f32() const { return converted<float>(*this); }
std::vector<double> Tensor::to_f64() const { return converted<double>(*this); }

void io::convert_to_f64(DType dtype, const std::byte* data, std::span<double> out) {
  convert<double>(dtype, data, out);
}

std::string io::integer_text(DType dtype, const std::byte* data) {
  return with_type_of(dtype, [data]<class T>(T) -> std::string {
    if constexpr (std::is_integral_v<T> && !std::is_same_v<T, bool>) {
      T x;
      std::memcpy(&x, data, sizeof(T));
      return std::to_string(x);
    } else {
      core::fail(Code::internal, "an element that is no integer was to be written as one");
    }
  });
}

bool io::is_float(DType dtype) {
  return dtype == DType::f16 || dtype == DType::bf16 || dtype == DType::f32 || dtype == DType::f64;
}

std::optional<std::int64_t> io::first_not_finite(const Tensor& tensor) {
  switch (tensor.info().dtype) {
    case DType::f16:
      return first_with_full_exponent<std::uint16_t>(tensor.bytes(), 0x7C00);
    case DType::bf16:
      return first_with_full_exponent<std::uint16_t>(tensor.bytes(), 0x7F80);
    case DType::f32:
      return first_with_full_exponent<std::uint32_t>(tensor.bytes(), 0x7F80'0000);
    case DType::f64:
      return first_with_full_exponent<std::uint64_t>(tensor.bytes(), 0x7FF0'0000'0000'0000);
    default:
      return std::nullopt;
  }
}

std::string behind_links(const std::string& path) { return core::target_of(path); }
void check_writable(const std::string& path) { const core::AtomicFile probe(path); }

}  // namespace tamis::lab
