// Durations, measured and in words.
#pragma once

#include <chrono>
#include <string>

namespace tamis::cli {

inline double seconds_since(std::chrono::steady_clock::time_point begin) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

/// Returns the duration, rounded up, in a form such as "12 s", "3 min 5 s" or "2 h 10 min".
std::string duration_text(double seconds);

}  // namespace tamis::cli
