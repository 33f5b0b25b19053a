// Counts the allocations of the test program: the promise that hot calls make none is checked, not
// said.
#pragma once

#include <cstdint>

namespace tamis::testing {

/// Calls of operator new so far, on all threads.
std::int64_t allocations();

/// While it lives, one call of operator new on this thread throws: the one after `before` others.
/// Under clang's thread sanitizer, whose operator new none may replace, nothing fails.
class FailingAllocation {
 public:
  explicit FailingAllocation(std::int64_t before);
  ~FailingAllocation();
  FailingAllocation(const FailingAllocation&) = delete;
  FailingAllocation& operator=(const FailingAllocation&) = delete;
  /// Whether it has thrown.
  [[nodiscard]] bool failed() const;
};

}  // namespace tamis::testing
