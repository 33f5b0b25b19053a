// Durations in words.
#pragma once

#include <string>

namespace tamis::cli {

/// Returns the duration, rounded up, in a form such as "12 s", "3 min 5 s" or "2 h 10 min".
std::string duration_text(double seconds);

}  // namespace tamis::cli
