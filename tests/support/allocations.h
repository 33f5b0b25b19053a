// Counts the allocations of the test program: the promise that hot calls make none is checked, not said.
#pragma once

#include <cstdint>

namespace tamis::testing {

/// Calls of operator new so far, on all threads.
std::int64_t allocations();

}  // namespace tamis::testing
