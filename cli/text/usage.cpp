#include "text/usage.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cctype>
#include <span>
#include <string_view>

#include <tamis/error.h>
#include <tamis/text.h>

#include "text/suggest.h"

namespace tamis::cli {
namespace {

/// Returns CLI11's own message as the beginning of a longer sentence.
std::string plain(const CLI::ParseError& error) {
  std::string sentence = printable(error.what());
  while (!sentence.empty() && (sentence.back() == ' ' || sentence.back() == '.'))
    sentence.pop_back();
  if (sentence.starts_with("The ") || sentence.starts_with("Could ")) sentence[0] += 'a' - 'A';
  return sentence;
}

/// Returns the apps in which options are looked up: "tamis" and, if there is one, its parsed
/// subcommand.
std::vector<const CLI::App*> levels(const CLI::App& app) {
  std::vector<const CLI::App*> all{&app};
  for (const CLI::App* sub : app.get_subcommands()) all.push_back(sub);
  return all;
}

const CLI::Option* option_named(const CLI::App& app, const std::string& name) {
  for (const CLI::App* level : levels(app))
    if (const CLI::Option* option = level->get_option_no_throw(name)) return option;
  return nullptr;
}

std::string unknown_option(const CLI::App& app, std::string_view word) {
  const std::string_view name = word.substr(0, word.find('='));
  std::vector<std::string> names;
  for (const CLI::App* level : levels(app))
    for (const CLI::Option* option : level->get_options())
      for (const std::string& each : option->get_lnames()) names.push_back("--" + each);
  return fmt::format("there is no option '{}'{}", printable(name), did_you_mean(name, names));
}

std::string unknown_command(const CLI::App& app, std::string_view word) {
  std::vector<std::string> names;
  for (const CLI::App* sub : app.get_subcommands([](const CLI::App*) { return true; }))
    names.push_back(sub->get_name());
  const std::string list = fmt::format("{}", fmt::join(names, ", "));
  if (word.empty()) return "a command is missing; give one of " + list;
  const std::string meant = did_you_mean(word, names);
  return fmt::format("there is no command '{}'{}", printable(word),
                     meant.empty() ? "; give one of " + list : meant);
}

std::span<const char* const> words_of(int argc, const char* const* argv) {
  const std::span words(argv, static_cast<std::size_t>(argc));
  return words.empty() ? words : words.subspan(1);
}

}  // namespace

std::string usage_sentence(const CLI::App& app, const CLI::ParseError& error) {
  const auto parsed = app.get_subcommands();
  const std::vector<std::string> rest = app.remaining(true);
  const auto option = std::ranges::find_if(
      rest, [](const std::string& word) { return word.size() > 1 && word[0] == '-'; });
  const bool incomplete = dynamic_cast<const CLI::RequiredError*>(&error) != nullptr;
  std::string sentence = plain(error);
  if ((incomplete || dynamic_cast<const CLI::ExtrasError*>(&error) != nullptr) &&
      option != rest.end()) {
    sentence = unknown_option(app, *option);  // it may cause the other errors
  } else if (incomplete && parsed.empty()) {
    sentence = unknown_command(app, rest.empty() ? "" : rest.front());
  } else if (dynamic_cast<const CLI::ArgumentMismatch*>(&error) != nullptr) {
    const std::string name = sentence.substr(0, sentence.find(':'));
    const CLI::Option* mismatched = option_named(app, name);
    const bool twice = mismatched != nullptr && mismatched->count() > 1;
    sentence = fmt::format(
        "{}: {}", name, twice ? "is given more than once; give it once" : "its value is missing");
  }
  return fmt::format("{} (see tamis {}--help)", sentence,
                     parsed.empty() ? "" : parsed.front()->get_name() + ' ');
}

void check_values(const CLI::App& app, int argc, const char* const* argv) {
  const auto name_in = [](std::string_view word) {
    return std::string(word.substr(0, word.find('=')));
  };
  const auto names_option = [&](std::string_view word) {
    return word.starts_with('-') && option_named(app, name_in(word)) != nullptr;
  };
  const auto words = words_of(argc, argv);
  for (std::size_t i = 0; i < words.size(); ++i) {
    const std::string_view word = words[i];
    if (word == "--") return;
    if (!names_option(word)) continue;
    const std::string name = name_in(word);
    const bool is_switch = option_named(app, name)->get_items_expected_max() == 0;
    if (is_switch && word != name)
      throw Error(Code::usage, fmt::format("{}: takes no value; give {} or leave it out",
                                           printable(word), name));
    const bool takes_next = word == name && i + 1 < words.size() && names_option(words[i + 1]);
    if (!is_switch && (takes_next || word == name + '='))
      throw Error(Code::usage, fmt::format("{}: its value is missing", name));
  }
}

bool asks_for_json(int argc, const char* const* argv) {
  for (const std::string_view word : words_of(argc, argv)) {
    if (word == "--") return false;
    if (word == "--json") return true;
  }
  return false;
}

std::string command_line(int argc, const char* const* argv) {
  std::string line;
  for (const std::string_view word : std::span(argv, static_cast<std::size_t>(argc))) {
    const bool plain_word = !word.empty() && std::ranges::all_of(word, [](unsigned char c) {
      return std::isalnum(c) != 0 ||
             std::string_view("_-+=,./:@%").find(static_cast<char>(c)) != std::string_view::npos;
    });
    if (!line.empty()) line += ' ';
    if (plain_word) {
      line += word;
      continue;
    }
    line += '\'';
    for (const char c : word) line += c == '\'' ? "'\\''" : std::string(1, c);
    line += '\'';
  }
  return line;
}

}  // namespace tamis::cli
