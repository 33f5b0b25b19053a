// The parsers of containers, on bytes rather than on a path: what the public functions call after
// opening the file, and what the fuzz targets call on memory.
#pragma once

#include <memory>

#include <tamis/lab/tensor.h>

#include "core/file.h"

namespace tamis::lab::io {

SafetensorsFile open_safetensors(std::unique_ptr<core::ByteSource> source);
Tensor parse_npy(const core::ByteSource& source);

}  // namespace tamis::lab::io
