// Parsers of array files that read bytes instead of a path. The public functions call them after
// opening a file, and the fuzz targets call them on memory.
#pragma once

#include <memory>

#include <tamis/lab/tensor.h>

#include "core/file.h"

namespace tamis::lab::io {

SafetensorsFile open_safetensors(std::unique_ptr<core::ByteSource> source);
Tensor parse_npy(const core::ByteSource& source);

}  // namespace tamis::lab::io
