#include "text/suggest.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <vector>

namespace tamis::cli {
namespace {

/// Returns the optimal string alignment distance, in which no letter is edited twice. Time and
/// memory are proportional to the product of the lengths.
std::size_t edits_between(std::string_view a, std::string_view b) {
  std::vector<std::vector<std::size_t>> edits(a.size() + 1, std::vector<std::size_t>(b.size() + 1));
  for (std::size_t i = 0; i <= a.size(); ++i)
    for (std::size_t j = 0; j <= b.size(); ++j) {
      std::size_t& here = edits[i][j];
      if (i == 0 || j == 0) {
        here = i + j;
        continue;
      }
      here = std::min({edits[i - 1][j] + 1, edits[i][j - 1] + 1,
                       edits[i - 1][j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1)});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
        here = std::min(here, edits[i - 2][j - 2] + 1);
    }
  return edits[a.size()][b.size()];
}

std::size_t letters_of(std::string_view word) {
  return word.size() - std::min(word.find_first_not_of('-'), word.size());
}

}  // namespace

std::string did_you_mean(std::string_view word, std::span<const std::string> names) {
  constexpr std::size_t longest = 64;  // every name is shorter than half of this
  if (word.size() > longest) return {};
  std::size_t fewest = letters_of(word) / 3 + 1;
  std::vector<std::string> meant;
  for (const std::string& name : names) {
    const std::size_t edits = edits_between(word, name);
    if (edits < fewest) {
      fewest = edits;
      meant.clear();
    } else if (edits > fewest || meant.empty()) {
      continue;
    }
    meant.push_back(name);
  }
  return meant.empty() ? "" : fmt::format("; did you mean {}?", fmt::join(meant, " or "));
}

}  // namespace tamis::cli
