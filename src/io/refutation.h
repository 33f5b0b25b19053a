// A refutation on bytes rather than on a path: what the fuzz target calls on memory.
#pragma once

#include <tamis/refutation.h>

#include "core/file.h"

namespace tamis {

Refutation parse_refutation(const ByteSource& source);

}  // namespace tamis
