// Named arrays in files: safetensors and .npy, read and written.
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

/// Dimensions that an array in a file may have: as many as NumPy has.
inline constexpr std::size_t most_dimensions = 64;

/// Name, type and shape of an array, without its elements.
struct TensorInfo {
  std::string name;
  DType dtype = DType::f32;
  std::vector<std::int64_t> shape;

  /// Throws `usage` if a dimension is negative or bytes() would not fit 63 bits.
  [[nodiscard]] TAMIS_API std::int64_t elements() const;
  [[nodiscard]] std::int64_t bytes() const { return elements() * size_of(dtype); }
};

/// An array in memory, row-major, aligned to 64 bytes. Move-only: copies of data are explicit.
class TAMIS_API Tensor {
 public:
  Tensor() = default;
  /// Zero-filled. Throws `internal` if there is not enough memory.
  explicit Tensor(TensorInfo info);

  [[nodiscard]] const TensorInfo& info() const { return info_; }
  /// Empty for a default-constructed or moved-from tensor.
  [[nodiscard]] std::span<std::byte> bytes() { return {data_.get(), size()}; }
  [[nodiscard]] std::span<const std::byte> bytes() const { return {data_.get(), size()}; }
  /// Elements converted to float or double: exact for the types that fit, nearest otherwise.
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

/// An array to be written: `data` points at info.bytes() bytes owned by the caller.
struct TensorRef {
  TensorInfo info;
  const void* data = nullptr;
};

using Metadata = std::map<std::string, std::string>;

/// A safetensors file, open for reading. The header is checked whole when opened: sizes, types,
/// offsets inside the file, no overlap, no gap, no duplicate name. Tensors are read when asked for
/// with pread, so a file that shrinks meanwhile is an error. Safe to read from many threads.
class TAMIS_API SafetensorsFile {
 public:
  explicit SafetensorsFile(const std::string& path);
  ~SafetensorsFile();
  SafetensorsFile(SafetensorsFile&&) noexcept;
  SafetensorsFile& operator=(SafetensorsFile&&) noexcept;

  [[nodiscard]] const std::string& path() const;
  [[nodiscard]] const Metadata& metadata() const;
  /// In the order of their data.
  [[nodiscard]] std::span<const TensorInfo> tensors() const;
  /// Null if there is none of that name.
  [[nodiscard]] const TensorInfo* find(std::string_view name) const;
  /// Throws `input` if there is none of that name. Allocates and reads its bytes.
  [[nodiscard]] Tensor read(std::string_view name) const;

 private:
  friend struct SafetensorsAccess;
  struct Impl;
  explicit SafetensorsFile(std::unique_ptr<Impl> impl);
  /// Throws `usage` if it was moved from.
  [[nodiscard]] const Impl& inside() const;
  std::unique_ptr<Impl> impl_;
};

/// Writes under a temporary name beside `path`, syncs, then renames: `path` is never half written.
TAMIS_API void write_safetensors(const std::string& path, std::span<const TensorRef> tensors,
                                 const Metadata& metadata = {});

/// Throws what writing a file at `path` would throw before its first byte, by making the temporary
/// file and removing it: worth asking before hours of work.
TAMIS_API void check_writable(const std::string& path);

/// The file that a write to `path` means: where it leads, if it is a symbolic link, be there a file
/// or not. Throws `usage` for links that lead in a circle.
TAMIS_API std::string behind_links(const std::string& path);

/// NumPy's .npy, versions 1 to 3, C order, little endian. bfloat16, which NumPy lacks, is stored as
/// ml_dtypes does ('<V2'), and '<V2' is read as bfloat16. info().name is empty.
TAMIS_API Tensor read_npy(const std::string& path);
TAMIS_API void write_npy(const std::string& path, const TensorRef& tensor);

}  // namespace tamis::lab
