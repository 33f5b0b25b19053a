#include "text/describe.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <sstream>
#include <string_view>

namespace tamis::cli {
namespace {

constexpr std::array<std::string_view, 4> files{"FILE", "TRACE", "PATTERN", "WITNESS"};

OptionText describe_option(const CLI::Option& option) {
  OptionText text;
  if (!option.get_snames().empty()) text.short_name = option.get_snames().front();
  if (!option.get_lnames().empty()) text.long_name = option.get_lnames().front();
  text.word = option.get_name(true);
  const bool flag = option.get_expected_max() == 0;
  if (!flag) text.value = option.get_type_name();
  if (!text.value.empty() && text.value.front() >= 'a') {  // lower case: a list of words
    std::istringstream values(text.value);
    for (std::string choice; std::getline(values, choice, '|');) text.choices.push_back(choice);
  }
  text.text = option.get_description();
  text.takes_file = std::ranges::find(files, text.value) != files.end();
  text.repeats = option.get_items_expected_max() > 1;
  text.required = option.get_required();
  return text;
}

std::vector<Paragraph> paragraphs(std::istream& lines) {
  std::vector<Paragraph> body;
  bool open = false;
  for (std::string line; std::getline(lines, line);) {
    const bool verbatim = line.starts_with("  ");
    if (line.empty()) {
      open = false;
    } else if (open && body.back().verbatim == verbatim) {
      body.back().text += (verbatim ? '\n' : ' ') + line.substr(verbatim ? 2 : 0);
    } else {
      body.push_back({verbatim, line.substr(verbatim ? 2 : 0)});
      open = true;
    }
  }
  return body;
}

OptionText entry(std::string value, std::string text) {
  OptionText item;
  item.value = std::move(value);
  item.text = std::move(text);
  return item;
}

}  // namespace

std::string OptionText::heading() const {
  if (positional()) return value;
  std::string names = short_name.empty() ? "" : "-" + short_name + ", ";
  names += "--" + long_name;
  return value.empty() ? names : names + ' ' + value;
}

std::string CommandText::full_name() const { return name == "tamis" ? name : "tamis " + name; }

std::string CommandText::usage() const {
  constexpr std::size_t most_columns = 40;  // longer lists of words are shown elsewhere
  std::string text = full_name();
  for (const OptionText& item : positionals) {
    const std::string& shown = item.value.size() > most_columns ? item.word : item.value;
    text += item.required ? ' ' + shown : " [" + shown + ']';
  }
  return text + " [options]";
}

CommandText describe_command(const CLI::App& app) {
  CommandText command;
  const CLI::App* parent = app.get_parent();
  command.name = app.get_name();
  std::istringstream description(app.get_description());
  std::getline(description, command.summary);
  command.body = paragraphs(description);
  command.example = app.get_footer();
  for (const CLI::Option* option : app.get_options()) {
    // Every subcommand has its own --help, which is described once among the global options.
    if (parent != nullptr && option == app.get_help_ptr()) continue;
    OptionText text = describe_option(*option);
    (text.positional() ? command.positionals : command.options).push_back(std::move(text));
  }
  return command;
}

ProgramText describe_program(const CLI::App& app) {
  const CLI::App& root = app.get_parent() == nullptr ? app : *app.get_parent();
  ProgramText text;
  text.program = describe_command(root);
  for (const CLI::App* sub : root.get_subcommands([](const CLI::App*) { return true; }))
    text.commands.push_back(describe_command(*sub));
  return text;
}

std::vector<OptionText> exit_statuses() {
  return {
      entry("0", "done"),
      entry("1",
            "done, and the answer is no: a certificate was violated (attend --check, bench), no "
            "witness was found (realise), or a witness or a refutation does not hold (verify)"),
      entry("2", "bad usage or bad input; the sentence names the option, file or tensor at fault"),
      entry("3",
            "failed while running: a file cannot be written, memory is exhausted, points of a "
            "sweep failed"),
  };
}

std::vector<OptionText> environment() {
  return {
      entry("TAMIS_TARGET",
            "the set of CPU kernels to use, one of those that tamis info lists; the fastest that "
            "runs here if not set")};
}

}  // namespace tamis::cli
