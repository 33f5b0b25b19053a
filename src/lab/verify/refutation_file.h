// Parses a refutation from bytes instead of a path, for `read_refutation` and the fuzz target.
#pragma once

#include <tamis/lab/refutation.h>

#include "core/file.h"

namespace tamis::lab::verification {

Refutation parse_refutation(const core::ByteSource& source);

}  // namespace tamis::lab::verification
