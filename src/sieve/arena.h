// Places the arrays of one work item one after the other in memory that the workspace owns. An
// arena over a null pointer only counts the memory that is needed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>

namespace tamis::sieve {

class Arena {
 public:
  explicit Arena(float* memory) : base_(reinterpret_cast<std::byte*>(memory)) {}

  /// Returns `count` elements, aligned to 64 bytes and not initialised; null if the
  /// arena only counts.
  template <class T>
  T* take(std::int64_t count) {
    static_assert(std::is_trivially_destructible_v<T>);
    std::byte* here = base_ == nullptr ? nullptr : base_ + used_;
    used_ += (static_cast<std::size_t>(count) * sizeof(T) + 63) / 64 * 64;
    return reinterpret_cast<T*>(here);
  }
  [[nodiscard]] std::int64_t floats() const {
    return static_cast<std::int64_t>(used_ / sizeof(float));
  }

 private:
  std::byte* base_;
  std::size_t used_ = 0;
};

}  // namespace tamis::sieve
