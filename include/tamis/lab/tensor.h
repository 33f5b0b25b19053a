// Arrays in memory, and reading and writing them as safetensors and NumPy's .npy.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <tamis/dtype.h>
#include <tamis/export.h>

namespace tamis::lab {

/// The most dimensions that an array in a file may have; this is NumPy's limit.
inline constexpr std::size_t most_dimensions = 64;

/// Name, type and shape of an array, without its elements.
struct TensorInfo {
  std::string name;
  DType dtype = DType::f32;
  std::vector<std::int64_t> shape;

  /// The product of the dimensions. Throws `usage` if a dimension is negative or bytes() would not
  /// fit in 63 bits.
  [[nodiscard]] TAMIS_API std::int64_t elements() const;
  [[nodiscard]] std::int64_t bytes() const { return elements() * size_of(dtype); }
};

/// An array in memory, row-major and aligned to 64 bytes. It can be moved but not copied.
class TAMIS_API Tensor {
 public:
  Tensor() = default;
  /// Allocates an array of zeros. Throws `internal` if there is not enough memory.
  explicit Tensor(TensorInfo info);

  [[nodiscard]] const TensorInfo& info() const { return info_; }
  /// Empty for a default-constructed or moved-from tensor.
  [[nodiscard]] std::span<std::byte> bytes() { return {data_.get(), size()}; }
  [[nodiscard]] std::span<const std::byte> bytes() const { return {data_.get(), size()}; }
  /// The elements converted to float or double. The conversion is exact for the types that fit, and
  /// rounds to nearest otherwise.
  [[nodiscard]] std::vector<float> to_f32() const;
  [[nodiscard]] std::vector<double> to_f64() const;

 private:
  [[nodiscard]] std::size_t size() const {
    return data_ ? static_cast<std::size_t>(info_.bytes()) : 0;
  }
  struct Free {
    void operator()(std::byte* p) const;
  };
  TensorInfo info_;
  std::unique_ptr<std::byte[], Free> data_;
};

/// An array to be written. `data` points to info.bytes() bytes that the caller owns.
struct TensorRef {
  TensorInfo info;
  const void* data = nullptr;
};

using Metadata = std::map<std::string, std::string>;

/// A safetensors file that is open for reading. Opening it checks the whole header: sizes and types
/// are valid, offsets lie inside the file, tensors neither overlap nor leave gaps, and names are
/// unique. Each tensor is read on demand with pread, so it is an error if the file has shrunk
/// since. Safe to use from many threads.
class TAMIS_API SafetensorsFile {
 public:
  explicit SafetensorsFile(const std::string& path);
  ~SafetensorsFile();
  SafetensorsFile(SafetensorsFile&&) noexcept;
  SafetensorsFile& operator=(SafetensorsFile&&) noexcept;

  [[nodiscard]] const std::string& path() const;
  [[nodiscard]] const Metadata& metadata() const;
  /// All tensors, in the order of their data in the file.
  [[nodiscard]] std::span<const TensorInfo> tensors() const;
  /// The tensor of that name, or null if there is none.
  [[nodiscard]] const TensorInfo* find(std::string_view name) const;
  /// Reads one tensor into newly allocated memory. Throws `input` if there is none of that name.
  [[nodiscard]] Tensor read(std::string_view name) const;

 private:
  friend struct SafetensorsAccess;
  struct Impl;
  explicit SafetensorsFile(std::unique_ptr<Impl> impl);
  /// Throws `usage` if this object was moved from.
  [[nodiscard]] const Impl& inside() const;
  std::unique_ptr<Impl> impl_;
};

/// Writes a safetensors file. The data are written and synced under a temporary name beside `path`,
/// which is then renamed, so `path` is never half written.
TAMIS_API void write_safetensors(const std::string& path, std::span<const TensorRef> tensors,
                                 const Metadata& metadata = {});

/// Checks before a long computation that a file can be written at `path`. It creates the temporary
/// file of a write and removes it again. Throws what the write would throw before its first byte.
TAMIS_API void check_writable(const std::string& path);

/// The path of the file that a write to `path` creates or replaces: `path` itself or, if that is a
/// symbolic link, where the link leads, whether or not a file exists there. Throws `usage` for
/// links that form a cycle.
TAMIS_API std::string behind_links(const std::string& path);

/// Reads NumPy's .npy: versions 1 to 3, C order, little endian. NumPy has no bfloat16; the type
/// '<V2' is read as bfloat16, as the package ml_dtypes writes it. info().name is empty.
TAMIS_API Tensor read_npy(const std::string& path);
/// Writes version 1 of the same format; bfloat16 becomes '<V2'. `path` is never half written.
TAMIS_API void write_npy(const std::string& path, const TensorRef& tensor);

}  // namespace tamis::lab
