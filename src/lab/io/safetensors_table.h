// The JSON in the header of a safetensors file, as a table of entries.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <tamis/lab/tensor.h>

namespace tamis::lab::io {

struct SafetensorsEntry {
  TensorInfo info;
  std::int64_t begin = 0;  ///< offset of its bytes in the data, as the header claims
  std::int64_t end = 0;    ///< offset of the byte after its last
};

struct SafetensorsTable {
  Metadata metadata;
  std::vector<SafetensorsEntry> entries;  ///< in the order of the JSON
};

/// Parses the JSON of a header, which must be UTF-8, begin with '{' and hold no zero byte. Throws
/// `input` if a value has a wrong type or an entry lacks a field. Whether tensor names differ and
/// offsets make sense is left to the caller. Memory is bounded by a small multiple of the text.
SafetensorsTable parse_safetensors_table(const std::string& file, const std::string& json);

}  // namespace tamis::lab::io
