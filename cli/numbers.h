// Lists of numbers in the values of options.
#pragma once

#include <fmt/format.h>

#include <charconv>
#include <string_view>
#include <vector>

#include <tamis/error.h>
#include <tamis/text.h>

namespace tamis::cli {

/// Parses numbers separated by commas. Throws Error(usage), naming `option`, if a word is not a
/// number or is out of range.
template <class Number>
std::vector<Number> list_of(const char* option, std::string_view text) {
  std::vector<Number> numbers;
  for (std::string_view rest = text;;) {
    const std::string_view word = rest.substr(0, rest.find(','));
    Number number{};
    const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), number);
    if (error == std::errc::result_out_of_range)
      throw Error(Code::usage, fmt::format("{}: '{}' is out of range", option, printable(word)));
    if (error != std::errc() || end != word.data() + word.size())
      throw Error(Code::usage,
                  fmt::format("{}: '{}' is not a number; give one or several with commas between",
                              option, printable(word)));
    numbers.push_back(number);
    if (word.size() == rest.size()) return numbers;
    rest.remove_prefix(word.size() + 1);
  }
}

}  // namespace tamis::cli
