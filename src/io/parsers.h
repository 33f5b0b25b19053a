// Every parser of tamis on bytes rather than on a path: what the public functions call after opening
// the file, and what the fuzz targets call on memory.
#pragma once

#include <memory>

#include <tamis/pattern.h>
#include <tamis/progress.h>
#include <tamis/tensor.h>
#include "core/file.h"

namespace tamis {

SafetensorsFile open_safetensors(std::unique_ptr<ByteSource> source);
Tensor parse_npy(const ByteSource& source);
Pattern parse_npy_pattern(const ByteSource& source, const ProgressCallback& progress = {});
Pattern parse_matrix_market(const ByteSource& source, const ProgressCallback& progress = {});
Pattern parse_qrels(const ByteSource& source, EmptyTopics empty = EmptyTopics::refuse,
                    const ProgressCallback& progress = {});

}  // namespace tamis
