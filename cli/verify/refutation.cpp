#include "verify/refutation.h"

#include <fmt/format.h>

#include <array>
#include <chrono>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string_view>

#include <tamis/lab/refutation.h>
#include <tamis/text.h>

#include "decide/evidence.h"
#include "terminal/duration.h"
#include "terminal/json.h"

namespace tamis::cli {

bool looks_like_json(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::array<char, 8> bytes{};
  file.read(bytes.data(), bytes.size());
  const std::string_view front(bytes.data(), static_cast<std::size_t>(file.gcount()));
  const std::size_t first = front.find_first_not_of(" \t\r\n");
  return first != std::string_view::npos && front[first] == '{' &&
         front.find('\0') == std::string_view::npos;
}

int verify_refutation(const PatternFile& file, const std::string& path, const Globals& globals) {
  const lab::Pattern pattern = file.read();
  const lab::Refutation refutation = lab::read_refutation(path);
  const auto begin = std::chrono::steady_clock::now();
  const lab::RefutationCheck check = lab::check_refutation(pattern, refutation);
  const double seconds = seconds_since(begin);
  if (globals.json) {
    fmt::print("{}", json_text(nlohmann::ordered_json{
                         {"holds", check.holds},
                         {"why", check.why},
                         {"dim", refutation.dim},
                         {"hidden", refutation.hidden ? nlohmann::ordered_json(*refutation.hidden)
                                                      : nlohmann::ordered_json()},
                         {"grounds", lab::name_of(refutation.grounds)},
                         {"pattern", file.name},
                         {"dropped", pattern.dropped},
                         {"refutation", path},
                         {"seconds", seconds}}));
    return check.holds ? 0 : 1;
  }
  fmt::print(
      "pattern       {}: {} × {}, {} nonzeros\n"
      "{}refutation    {}: of {} column{}{}, by {}\n"
      "verdict       {}\n",
      printable(file.name), pattern.rows, pattern.cols, pattern.nonzeros(),
      dropped_text(pattern, 14), printable(path), refutation.dim, refutation.dim == 1 ? "" : "s",
      refutation.hidden ? fmt::format(" with hidden size {}", *refutation.hidden) : "",
      lab::name_of(refutation.grounds),
      !check.holds ? "no: " + check.why
      : refutation.hidden
          ? "it holds: nothing of so many columns and this hidden size weakly produces the pattern"
          : "it holds: no queries and keys of so many columns weakly produce the pattern");
  if (check.holds) fmt::print("              {}\n", refutation_words(pattern, refutation));
  return check.holds ? 0 : 1;
}

}  // namespace tamis::cli
