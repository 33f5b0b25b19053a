// The inside of an object whose contents may have been moved away.
#pragma once

#include <memory>

#include "core/fail.h"

namespace tamis::core {

/// *impl; throws `usage` if there is none, naming `what` was moved from.
template <class Impl>
Impl& inside_of(const std::unique_ptr<Impl>& impl, const char* what) {
  if (impl == nullptr)
    fail(Code::usage,
         "{} that was moved from is empty; it can be assigned to and destroyed, nothing else",
         what);
  return *impl;
}

}  // namespace tamis::core
