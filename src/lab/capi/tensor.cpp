// C ABI: tensors, .npy and safetensors files.
#include "lab/capi/tensor.h"

#include <algorithm>
#include <string>
#include <vector>

struct tamis_safetensors {
  explicit tamis_safetensors(const char* path) : file(path) {}
  tamis::lab::SafetensorsFile file;
};

namespace tamis::lab::capi {

tamis_array to_c(const TensorInfo& info, const void* data) {
  return {info.name.c_str(), info.shape.data(), data, static_cast<std::int32_t>(info.shape.size()),
          static_cast<tamis_dtype>(info.dtype)};
}

TensorRef from_c(const tamis_array& array, const char* name) {
  if (array.rank < 0 || static_cast<std::size_t>(array.rank) > most_dimensions)
    core::fail(Code::usage, "array \"{}\" has rank {}; 0 to {} are possible", name, array.rank,
               most_dimensions);
  const auto shape = tamis::capi::required(array.shape, array.rank, "the shape of an array");
  return {{name, tamis::capi::dtype_of(array.dtype), {shape.begin(), shape.end()}}, array.data};
}

const char* find_metadata(const Metadata& metadata, const char* key) {
  const auto found = metadata.find(&tamis::capi::required(key, "key"));
  return found == metadata.end() ? nullptr : found->second.c_str();
}

namespace {

template <class T>
void copy_elements(const std::vector<T>& from, T* out, std::size_t count) {
  if (count != from.size())
    core::fail(Code::usage, "count is {}; the tensor has {} elements", count, from.size());
  std::ranges::copy(from,
                    tamis::capi::required(out, static_cast<std::int64_t>(count), "out").begin());
}

}  // namespace
}  // namespace tamis::lab::capi

using namespace tamis::capi;       // NOLINT(google-build-using-namespace): for the functions below
using namespace tamis::lab::capi;  // NOLINT(google-build-using-namespace)

void tamis_tensor_free(tamis_tensor* tensor) { delete tensor; }

tamis_code tamis_tensor_get(const tamis_tensor* tensor, tamis_array* out) {
  return guarded([&] {
    const tamis::lab::Tensor& t = required(tensor, "tensor").tensor;
    required(out, "out") = to_c(t.info(), t.bytes().data());
  });
}

tamis_code tamis_tensor_to_f32(const tamis_tensor* tensor, float* out, size_t count) {
  return guarded([&] { copy_elements(required(tensor, "tensor").tensor.to_f32(), out, count); });
}

tamis_code tamis_tensor_to_f64(const tamis_tensor* tensor, double* out, size_t count) {
  return guarded([&] { copy_elements(required(tensor, "tensor").tensor.to_f64(), out, count); });
}

tamis_code tamis_npy_read(const char* path, tamis_tensor** out) {
  return make(out, [&] {
    return std::make_unique<tamis_tensor>(
        tamis_tensor{tamis::lab::read_npy(&required(path, "path"))});
  });
}

tamis_code tamis_npy_write(const char* path, const tamis_array* array) {
  return guarded([&] {
    tamis::lab::write_npy(&required(path, "path"), from_c(required(array, "array"), ""));
  });
}

tamis_code tamis_safetensors_open(const char* path, tamis_safetensors** out) {
  return make(out, [&] { return std::make_unique<tamis_safetensors>(&required(path, "path")); });
}

void tamis_safetensors_free(tamis_safetensors* file) { delete file; }

tamis_code tamis_safetensors_count(const tamis_safetensors* file, size_t* count) {
  return guarded([&] { required(count, "count") = required(file, "file").file.tensors().size(); });
}

tamis_code tamis_safetensors_at(const tamis_safetensors* file, size_t index, tamis_array* out) {
  return guarded([&] {
    const auto tensors = required(file, "file").file.tensors();
    if (index >= tensors.size())
      tamis::core::fail(tamis::Code::usage, "tensor {} was asked for; the file has {}", index,
                        tensors.size());
    required(out, "out") = to_c(tensors[index], nullptr);
  });
}

tamis_code tamis_safetensors_read(const tamis_safetensors* file, const char* name,
                                  tamis_tensor** out) {
  return make(out, [&] {
    return std::make_unique<tamis_tensor>(
        tamis_tensor{required(file, "file").file.read(&required(name, "name"))});
  });
}

tamis_code tamis_safetensors_metadata(const tamis_safetensors* file, const char* key,
                                      const char** value) {
  return guarded([&] {
    required(value, "value") = find_metadata(required(file, "file").file.metadata(), key);
  });
}

tamis_code tamis_safetensors_write(const char* path, const tamis_array* arrays, size_t count,
                                   const char* const* metadata, size_t pairs) {
  return guarded([&] {
    required(path, "path");
    if (count > 0) required(arrays, "arrays");
    if (pairs > 0) required(metadata, "metadata");
    std::vector<tamis::lab::TensorRef> tensors;
    for (std::size_t i = 0; i < count; ++i)
      tensors.push_back(from_c(arrays[i], &required(arrays[i].name, "the name of an array")));
    tamis::lab::Metadata map;
    for (std::size_t i = 0; i < pairs; ++i) {
      const char* key = &required(metadata[2 * i], "a metadata key");
      if (!map.emplace(key, &required(metadata[2 * i + 1], "a metadata value")).second)
        tamis::core::fail(tamis::Code::usage, "{}: the metadata key \"{}\" is given twice", path,
                          key);
    }
    tamis::lab::write_safetensors(path, tensors, map);
  });
}
