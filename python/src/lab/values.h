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

/// What functions of the lab return; the names of the types stand in the module's stub.
using Dict = nb::typed<nb::dict, nb::str, nb::any>;
using Dicts = nb::typed<nb::list, Dict>;
using Texts = nb::typed<nb::list, nb::str>;
template <class T>
using Array = nb::ndarray<nb::numpy, T>;

nb::typed<nb::dict, nb::str, nb::str> metadata_dict(const lab::Metadata& metadata);

/// A NumPy array of one axis that owns the vector it is made from.
template <class T>
Array<T> array_of(std::vector<T> values) {
  const std::size_t size = values.size();
  return nb::cast<Array<T>>(array_of(std::move(values), {size}));
}

/// (bytes, type, shape). The array owns the tensor.
using TensorTuple =
    nb::typed<nb::tuple, Array<std::uint8_t>, nb::str, nb::typed<nb::tuple, int, nb::ellipsis>>;
TensorTuple tensor_tuple(lab::Tensor tensor);

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
