// Counts the allocations of the test program, so that tests can check that hot calls make none.
#pragma once

#include <cstdint>

namespace tamis::test {

/// Number of calls of operator new so far, on all threads.
std::int64_t allocations();

/// While an object of this class lives, one call of operator new on this thread throws: the one
/// after `before` others. Under clang's thread sanitizer, whose operator new cannot be replaced,
/// no call fails.
class FailingAllocation {
 public:
  explicit FailingAllocation(std::int64_t before);
  ~FailingAllocation();
  FailingAllocation(const FailingAllocation&) = delete;
  FailingAllocation& operator=(const FailingAllocation&) = delete;
  /// Whether a call has failed.
  [[nodiscard]] bool failed() const;
};

}  // namespace tamis::test
