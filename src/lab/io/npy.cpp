// Reads and writes NumPy's .npy files.
#include <fmt/ranges.h>

#include <tamis/lab/tensor.h>
#include "core/atomic_file.h"
#include "core/fail.h"
#include "lab/io/npy_header.h"
#include "lab/io/parsers.h"

namespace tamis::lab {

Tensor io::parse_npy(const core::ByteSource& source) {
  NpyHeader header = read_npy_header(source);
  Tensor tensor(std::move(header.info));
  source.read_at(header.data_start, tensor.bytes());
  return tensor;
}

Tensor read_npy(const std::string& path) { return io::parse_npy(*core::open_file(path)); }

void write_npy(const std::string& path, const TensorRef& tensor) {
  const std::int64_t bytes = tensor.info.bytes();
  if (tensor.data == nullptr && bytes > 0)
    core::fail(Code::usage, "{}: the array to be written has no data", path);
  const auto& shape = tensor.info.shape;
  if (shape.size() > most_dimensions)
    core::fail(Code::usage, "{}: the array to be written has {} dimensions; npy holds at most {}",
               path, shape.size(), most_dimensions);
  const auto type = static_cast<std::size_t>(tensor.info.dtype);
  std::string dict = fmt::format("{{'descr': '{}{}', 'fortran_order': False, 'shape': ({}{}), }}",
                                 size_of(tensor.info.dtype) == 1 ? '|' : '<', io::npy_types[type],
                                 fmt::join(shape, ", "), shape.size() == 1 ? "," : "");
  // The format pads with spaces and a newline so that the elements start at a multiple of 64.
  constexpr std::size_t before = 10;
  dict.append(63 - (before + dict.size()) % 64, ' ');
  dict += '\n';
  const char length[2] = {static_cast<char>(dict.size() & 0xFF),
                          static_cast<char>(dict.size() >> 8)};
  core::AtomicFile file(path);
  file.write(io::npy_magic);
  file.write(std::string_view("\x01\x00", 2));
  file.write(std::string_view(length, 2));
  file.write(dict);
  file.write({static_cast<const std::byte*>(tensor.data), static_cast<std::size_t>(bytes)});
  file.commit();
}

}  // namespace tamis::lab
