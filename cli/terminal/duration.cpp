#include "terminal/duration.h"

#include <fmt/format.h>

#include <cmath>

namespace tamis::cli {

std::string duration_text(double seconds) {
  constexpr double longest = 3.6e9;  // a million hours; no estimate above that is useful
  const auto s = static_cast<long>(std::ceil(std::fmin(seconds, longest)));
  if (s < 60) return fmt::format("{} s", s);
  if (s < 3600) return fmt::format("{} min {} s", s / 60, s % 60);
  return fmt::format("{} h {} min", s / 3600, s % 3600 / 60);
}

}  // namespace tamis::cli
