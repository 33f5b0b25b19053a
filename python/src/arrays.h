// Arrays that go between Python and the library.
#pragma once

#include <cstdint>
#include <memory>
#include <string_view>
#include <utility>
#include <vector>

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <tamis/dtype.h>

namespace tamis::python {

/// A NumPy array that Python lends for a call, of any shape and strides (in elements, perhaps
/// negative). NumPy has no bf16: the package hands such an array over as one of uint16.
using ArrayIn = nanobind::ndarray<nanobind::ro>;
/// A NumPy array that a call writes into.
using ArrayOut = nanobind::ndarray<>;

/// The type of an array's elements; uint16 stands for bf16 if `is_bf16`. Throws `usage`, naming
/// the argument `name`, if the library has no such type.
DType dtype_of(const ArrayIn& array, bool is_bf16, std::string_view name);

/// Returns the address of an array's first element. That of an array without elements is not null,
/// and must not be read.
const void* data_of(const ArrayIn& array);

/// A NumPy array of this shape that owns `values`, which have as many elements.
template <class T>
nanobind::object array_of(std::vector<T> values, const std::vector<std::size_t>& shape) {
  auto owned = std::make_unique<std::vector<T>>(std::move(values));
  T* data = owned->data();
  const nanobind::capsule owner(owned.release(),
                                [](void* p) noexcept { delete static_cast<std::vector<T>*>(p); });
  return nanobind::cast(
      nanobind::ndarray<nanobind::numpy, T>(data, shape.size(), shape.data(), owner));
}

}  // namespace tamis::python
