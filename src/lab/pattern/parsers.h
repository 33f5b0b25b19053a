// Parsers of pattern files that read bytes instead of a path. `read_pattern` calls them after
// opening a file, and the fuzz targets call them on memory.
#pragma once

#include <tamis/lab/pattern.h>
#include <tamis/progress.h>

#include "core/file.h"

namespace tamis::lab::pattern {

Pattern parse_npy_pattern(const core::ByteSource& source, const ProgressCallback& progress = {});
Pattern parse_matrix_market(const core::ByteSource& source, const ProgressCallback& progress = {});
Pattern parse_qrels(const core::ByteSource& source, EmptyTopics empty = EmptyTopics::refuse,
                    const ProgressCallback& progress = {});

}  // namespace tamis::lab::pattern
