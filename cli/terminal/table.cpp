#include "terminal/table.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace tamis::cli {
namespace {

/// Returns the number of columns on the screen, which is the number of UTF-8 characters: none may
/// be wide.
std::size_t width_of(const std::string& text) {
  return static_cast<std::size_t>(std::ranges::count_if(
      text, [](char c) { return (static_cast<unsigned char>(c) & 0xC0U) != 0x80U; }));
}

}  // namespace

std::string table_text(const std::vector<std::vector<std::string>>& rows, LastColumn last) {
  std::vector<std::size_t> widths;
  for (const auto& row : rows) {
    widths.resize(std::max(widths.size(), row.size()));
    for (std::size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], width_of(row[i]));
  }
  std::string text;
  for (const auto& row : rows) {
    for (std::size_t i = 0; i < row.size(); ++i) {
      const std::string blank(widths[i] - width_of(row[i]), ' ');
      if (i == 0) {
        text += row[i] + blank;
      } else if (last == LastColumn::words && i + 1 == widths.size()) {
        text += "  " + row[i];
      } else {
        text += "  " + blank + row[i];
      }
    }
    text += '\n';
  }
  return text;
}

std::string percent(double share) {
  return std::isfinite(share) ? fmt::format("{:.1f}%", 100 * share) : "-";
}

}  // namespace tamis::cli
