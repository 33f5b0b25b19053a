// How paths and arrays pass between Python and the lab. Paths are bytes, because a path need
// not be UTF-8. A tensor is a tuple (bytes as a NumPy array, type, shape), so that bfloat16, which
// NumPy lacks, needs no case of its own.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <tamis/lab/tensor.h>

#include "../arrays.h"
#include "../text.h"

namespace tamis::python {

namespace nb = nanobind;

std::string path_of(const nb::bytes& path);

/// A NumPy array of one axis that owns the vector it is made from.
template <class T>
nb::object array_of(std::vector<T> values) {
  const std::size_t size = values.size();
  return array_of(std::move(values), {size});
}

/// (bytes, type, shape). The array owns the tensor.
nb::tuple tensor_tuple(lab::Tensor tensor);

using Bytes = nb::ndarray<const std::uint8_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

/// A tensor whose elements are in an array of Python, which must live as long.
lab::TensorRef tensor_ref(const std::string& name, const std::string& dtype,
                          const std::vector<std::int64_t>& shape, const Bytes& bytes);
/// A copy of such a tensor.
lab::Tensor tensor_copy(const lab::TensorRef& ref);

/// The value, or None in place of nothing.
template <class T>
nb::object or_none(const std::optional<T>& value) {
  return value ? nb::cast(*value) : nb::none();
}

}  // namespace tamis::python
