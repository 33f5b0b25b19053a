// Completion for fish.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "text/render.h"

namespace tamis::cli {
namespace {

std::string quoted(const std::string& text) {
  std::string out = "'";
  for (const char c : text) {
    if (c == '\'' || c == '\\') out += '\\';
    out += c;
  }
  return out + '\'';
}

std::string lines(const std::string& condition, const std::vector<OptionText>& options) {
  std::string out;
  for (const OptionText& option : options) {
    out += fmt::format("complete -c tamis{}", condition);
    if (!option.short_name.empty()) out += " -s " + option.short_name;
    out += " -l " + option.long_name;
    if (option.takes_file)
      out += " -rF";
    else if (!option.value.empty())
      out += " -x";
    if (!option.choices.empty()) out += fmt::format(" -a '{}'", fmt::join(option.choices, " "));
    out += fmt::format(" -d {}\n", quoted(option.text));
  }
  return out;
}

}  // namespace

std::string fish_completion(const ProgramText& program) {
  std::string out =
      "# fish completion for tamis, printed by: tamis completion fish\ncomplete -c tamis -f\n";
  out += lines("", program.program.options);
  for (const CommandText& command : program.commands) {
    out += fmt::format("complete -c tamis -n __fish_use_subcommand -a {} -d {}\n", command.name,
                       quoted(command.summary));
    const std::string condition = fmt::format(" -n '__fish_seen_subcommand_from {}'", command.name);
    out += lines(condition, command.options);
    for (const OptionText& item : command.positionals) {
      if (item.takes_file) out += fmt::format("complete -c tamis{} -F\n", condition);
      if (!item.choices.empty())
        out +=
            fmt::format("complete -c tamis{} -a '{}'\n", condition, fmt::join(item.choices, " "));
    }
  }
  return out;
}

}  // namespace tamis::cli
