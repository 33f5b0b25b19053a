#include "profile/spark.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

namespace tamis::cli {
namespace {

constexpr std::array lower{"▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
constexpr std::array left{"", "▏", "▎", "▍", "▌", "▋", "▊", "▉"};

}  // namespace

std::string sparkline(std::vector<double> values, bool log) {
  double low = std::numeric_limits<double>::infinity();
  double high = -low;
  for (double& x : values) {
    if (log) x = x > 0 ? std::log(x) : std::nan("");
    if (!std::isfinite(x)) continue;
    low = std::min(low, x);
    high = std::max(high, x);
  }
  std::string text;
  for (const double x : values) {
    if (!std::isfinite(x)) {
      text += ' ';
      continue;
    }
    const double place = high > low ? (x - low) / (high - low) : 0;
    text += lower[static_cast<std::size_t>(std::clamp(std::lround(place * 7), 0L, 7L))];
  }
  return text;
}

std::string bar(double share, int width) {
  if (!std::isfinite(share)) return std::string(static_cast<std::size_t>(width), ' ');
  const long eighths = std::clamp(std::lround(share * width * 8), 0L, width * 8L);
  std::string text;
  for (long i = 0; i < eighths / 8; ++i) text += "█";
  text += left[static_cast<std::size_t>(eighths % 8)];
  const long used = eighths / 8 + (eighths % 8 > 0 ? 1 : 0);
  return text + std::string(static_cast<std::size_t>(width - used), ' ');
}

}  // namespace tamis::cli
