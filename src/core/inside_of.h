// Access to the implementation of an object that may have been moved from.
#pragma once

#include <memory>

#include "core/fail.h"

namespace tamis::core {

/// Returns *impl. Throws `usage` if impl is null; `what` names the object in the message.
template <class Impl>
Impl& inside_of(const std::unique_ptr<Impl>& impl, const char* what) {
  if (impl == nullptr)
    fail(Code::usage,
         "{} that was moved from is empty; it can be assigned to and destroyed, nothing else",
         what);
  return *impl;
}

}  // namespace tamis::core
