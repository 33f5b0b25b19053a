// Completion for zsh as a function, to be put into fpath or sourced after compinit.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "text/render.h"

namespace tamis::cli {
namespace {

/// Escapes text for single quotes inside a specification of _arguments.
std::string quoted(const std::string& text) {
  std::string out;
  for (const char c : text) {
    if (c == '\'')
      out += "'\\''";
    else if (c == '[' || c == ']' || c == ':' || c == '\\')
      (out += '\\') += c;
    else
      out += c;
  }
  return out;
}

std::string action(const OptionText& option) {
  if (option.takes_file) return "_files";
  return option.choices.empty() ? "" : fmt::format("({})", fmt::join(option.choices, " "));
}

std::string specifications(const std::vector<OptionText>& options) {
  std::string out;
  for (const OptionText& option : options) {
    const std::string text = quoted(option.text);
    const std::string value =
        option.value.empty() ? "" : fmt::format(":{}:{}", quoted(option.value), action(option));
    if (option.short_name.empty())
      out += fmt::format(" \\\n      '{}--{}[{}]{}'", option.repeats ? "*" : "", option.long_name,
                         text, value);
    else
      out += fmt::format(" \\\n      '(-{0} --{1})'{{-{0},--{1}}}'[{2}]{3}'", option.short_name,
                         option.long_name, text, value);
  }
  return out;
}

}  // namespace

std::string zsh_completion(const ProgramText& program) {
  const std::string global = specifications(program.program.options);
  std::string names;
  std::string cases;
  for (const CommandText& command : program.commands) {
    names += fmt::format(" \\\n        '{}:{}'", command.name, quoted(command.summary));
    cases += fmt::format("    {})\n      _arguments{}{}", command.name, global,
                         specifications(command.options));
    for (std::size_t i = 0; i < command.positionals.size(); ++i) {
      const OptionText& item = command.positionals[i];
      cases += fmt::format(" \\\n      '{}{}:{}:{}'", i + 1, item.required ? "" : ":",
                           quoted(item.value), action(item));
    }
    cases += "\n      ;;\n";
  }
  std::string out =
      "#compdef tamis\n# zsh completion for tamis, printed by: tamis completion zsh\n_tamis() {\n";
  out += "  local curcontext=$curcontext state line\n  local -a commands\n";
  out += fmt::format("  commands=({})\n", names);
  out += fmt::format("  _arguments -C{} \\\n      '1: :->command' '*:: :->argument'\n", global);
  out += "  case $state in\n  command) _describe command commands ;;\n";
  out += "  argument)\n    case $line[1] in\n" + cases + "    esac ;;\n  esac\n}\n";
  out += "if [[ $funcstack[1] == _tamis ]]; then _tamis \"$@\"; else compdef _tamis tamis; fi\n";
  return out;
}

}  // namespace tamis::cli
