// A profile on bytes rather than on a path: what the fuzz target calls on memory.
#pragma once

#include <tamis/profile.h>

#include "core/file.h"

namespace tamis {

Profile parse_profile(const ByteSource& source);

}  // namespace tamis
