// Sets how the floating-point unit rounds while verification runs.
#pragma once

#include <cfenv>

namespace tamis::lab::verification {

/// Sets the thread's default floating-point environment, and restores the previous one when
/// destroyed. The error bounds assume rounding to nearest and denormals, which a library built with
/// -ffast-math may have switched off for the process.
class PlainRounding {
 public:
  PlainRounding() {
    std::fegetenv(&before_);
    std::fesetenv(FE_DFL_ENV);
  }
  ~PlainRounding() { std::fesetenv(&before_); }
  PlainRounding(const PlainRounding&) = delete;
  PlainRounding& operator=(const PlainRounding&) = delete;

 private:
  std::fenv_t before_{};
};

}  // namespace tamis::lab::verification
