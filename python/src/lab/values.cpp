#include "values.h"

#include <cstring>
#include <memory>

#include <tamis/error.h>

namespace tamis::python {
namespace {

DType dtype_named(const std::string& name) {
  for (int i = 0; i <= static_cast<int>(DType::boolean); ++i)
    if (name_of(static_cast<DType>(i)) == name) return static_cast<DType>(i);
  throw Error(Code::usage, "there is no element type '" + name + "'");
}

}  // namespace

std::string path_of(const nb::bytes& path) { return {path.c_str(), path.size()}; }

nb::typed<nb::dict, nb::str, nb::str> metadata_dict(const lab::Metadata& metadata) {
  nb::dict dict;
  for (const auto& [key, value] : metadata) dict[text(key)] = text(value);
  return dict;
}

TensorTuple tensor_tuple(lab::Tensor tensor) {
  auto kept = std::make_unique<lab::Tensor>(std::move(tensor));
  const lab::TensorInfo& info = kept->info();
  std::byte* data = kept->bytes().data();
  const std::size_t size = kept->bytes().size();
  nb::list shape;
  for (const std::int64_t n : info.shape) shape.append(n);
  nb::str dtype = text(name_of(info.dtype));
  nb::capsule owner(kept.release(), [](void* p) noexcept { delete static_cast<lab::Tensor*>(p); });
  nb::ndarray<nb::numpy, std::uint8_t> bytes(data, {size}, owner);
  return nb::make_tuple(nb::cast(bytes), dtype, nb::tuple(shape));
}

lab::TensorRef tensor_ref(const std::string& name, const std::string& dtype,
                          const std::vector<std::int64_t>& shape, const Bytes& bytes) {
  lab::TensorRef ref{{name, dtype_named(dtype), shape}, bytes.data()};
  if (ref.info.bytes() != static_cast<std::int64_t>(bytes.nbytes()))
    throw Error(Code::usage, "tensor '" + name + "' does not have the bytes of its shape");
  return ref;
}

lab::Tensor tensor_copy(const lab::TensorRef& ref) {
  lab::Tensor tensor(ref.info);
  if (!tensor.bytes().empty()) std::memcpy(tensor.bytes().data(), ref.data, tensor.bytes().size());
  return tensor;
}

}  // namespace tamis::python
