#include "text/usage.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cctype>

namespace tamis::cli {
namespace {

/// CLI11's own message, as the beginning of a longer sentence.
std::string plain(const CLI::ParseError& error) {
  std::string sentence = error.what();
  std::ranges::replace(sentence, '\n', ' ');
  while (!sentence.empty() && (sentence.back() == ' ' || sentence.back() == '.')) sentence.pop_back();
  if (sentence.starts_with("The ") || sentence.starts_with("Could ")) sentence[0] += 'a' - 'A';
  return sentence;
}

std::string without_command(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::App* sub : app.get_subcommands([](const CLI::App*) { return true; }))
    names.push_back(sub->get_name());
  const std::vector<std::string> words = app.remaining();
  if (words.empty()) return fmt::format("a command is missing; give one of {}", fmt::join(names, ", "));
  if (words.front().starts_with('-')) return fmt::format("there is no option '{}'", words.front());
  return fmt::format("there is no command '{}'; give one of {}", words.front(), fmt::join(names, ", "));
}

}  // namespace

std::string usage_sentence(const CLI::App& app, const CLI::ParseError& error) {
  const auto parsed = app.get_subcommands();
  std::string sentence = plain(error);
  if (dynamic_cast<const CLI::RequiredError*>(&error) != nullptr && parsed.empty())
    sentence = without_command(app);
  else if (dynamic_cast<const CLI::ArgumentMismatch*>(&error) != nullptr)
    sentence = fmt::format("{}: its value is missing", sentence.substr(0, sentence.find(':')));
  return fmt::format("{} (see tamis {}--help)", sentence,
                     parsed.empty() ? "" : parsed.front()->get_name() + ' ');
}

}  // namespace tamis::cli
