// The header of a safetensors file: 8 bytes of length, then JSON in UTF-8. The data follow it.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>
#include <vector>

#include <tamis/lab/tensor.h>
#include "core/file.h"

namespace tamis::lab::io {

struct SafetensorsHeader {
  Metadata metadata;
  std::vector<TensorInfo> tensors;  ///< in the order of their data
  std::vector<std::int64_t> start;  ///< offset of each tensor's bytes in the file
};

/// The longest header that is read or written, in bytes, as in the format's own library.
inline constexpr std::int64_t longest_safetensors_header = 100'000'000;

/// The format's names of the element types, indexed by DType.
inline constexpr std::array<std::string_view, 13> safetensors_dtypes{
    "F16", "BF16", "F32", "F64", "I8", "I16", "I32", "I64", "U8", "U16", "U32", "U64", "BOOL"};

/// Reads and checks the header. Throws `input` unless each tensor has as many bytes as its type and
/// shape need, all of them inside the file, and every byte of the data belongs to exactly one
/// tensor. Memory is bounded by a small multiple of the header that the file really has.
SafetensorsHeader read_safetensors_header(const core::ByteSource& source);

}  // namespace tamis::lab::io
