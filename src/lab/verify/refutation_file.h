// A refutation on bytes rather than on a path: what the fuzz target calls on memory.
#pragma once

#include <tamis/lab/refutation.h>

#include "core/file.h"

namespace tamis::lab::verification {

Refutation parse_refutation(const core::ByteSource& source);

}  // namespace tamis::lab::verification
