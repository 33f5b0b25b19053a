// Times as people read them.
#pragma once

#include <string>

namespace tamis::cli {

/// Rounded up: "12 s", "3 min 5 s", "2 h 10 min".
std::string duration_text(double seconds);

}  // namespace tamis::cli
