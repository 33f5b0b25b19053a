// The header of a .npy file: a magic string, a version, a length, then the text of a Python dict.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#include <tamis/lab/tensor.h>
#include "core/file.h"

namespace tamis::lab::io {

inline constexpr std::string_view npy_magic = "\x93NUMPY";

/// NumPy's name of each DType, without the byte order. bfloat16 is "V2".
inline constexpr std::array<std::string_view, 13> npy_types{
    "f2", "V2", "f4", "f8", "i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "b1"};

struct NpyHeader {
  TensorInfo info;
  std::int64_t data_start = 0;
};

/// Reads the header. Throws `input` unless it is well formed and the file holds as many bytes after
/// it as type and shape need.
NpyHeader read_npy_header(const core::ByteSource& source);

}  // namespace tamis::lab::io
