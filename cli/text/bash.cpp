// Completion for bash as one function, which does not need the bash-completion package.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "text/render.h"

namespace tamis::cli {
namespace {

std::string option_words(const std::vector<OptionText>& options) {
  std::string words;
  for (const OptionText& option : options) {
    if (!option.short_name.empty()) words += '-' + option.short_name + ' ';
    words += "--" + option.long_name + ' ';
  }
  return words;
}

/// Returns the cases of a `case` statement on the previous word: what may follow each option that
/// takes a value.
std::string value_cases(const std::string& command, const std::vector<OptionText>& options) {
  std::string out;
  for (const OptionText& option : options) {
    if (option.value.empty()) continue;
    out += fmt::format("    {}--{}) values='{}' files={} ;;\n", command, option.long_name,
                       fmt::join(option.choices, " "), option.takes_file ? 1 : 0);
  }
  return out;
}

}  // namespace

std::string bash_completion(const ProgramText& program) {
  std::string names;
  std::string after_options = value_cases("*:", program.program.options);
  std::string words;
  for (const CommandText& command : program.commands) {
    names += (names.empty() ? "" : " ") + command.name;
    after_options += value_cases(command.name + ':', command.options);
    std::string values;
    bool files = false;
    for (const OptionText& item : command.positionals) {
      values += fmt::format("{}", fmt::join(item.choices, " "));
      files = files || item.takes_file;
    }
    words += fmt::format("    {}) options=\"$options {}\" values='{}' files={} ;;\n", command.name,
                         option_words(command.options), values, files ? 1 : 0);
  }
  std::string pattern = names;
  for (char& c : pattern)
    if (c == ' ') c = '|';

  std::string out = "# bash completion for tamis, printed by: tamis completion bash\n_tamis() {\n";
  out +=
      "  local current=${COMP_WORDS[COMP_CWORD]} previous=${COMP_WORDS[COMP_CWORD-1]} command= i\n";
  out +=
      fmt::format("  local options='{}' values= files=0\n", option_words(program.program.options));
  out += "  for ((i = 1; i < COMP_CWORD; i++)); do\n";
  out += fmt::format(
      "    case ${{COMP_WORDS[i]}} in {}) command=${{COMP_WORDS[i]}}; break ;; esac\n", pattern);
  out += "  done\n";
  out += "  case $command:$previous in\n" + after_options;
  out += "    *)\n  case $command in\n";
  out += fmt::format("    '') values='{}' ;;\n{}", names, words);
  out += "  esac ;;\n  esac\n";
  out += "  [[ $current == -* ]] && values=$options files=0\n";
  out += "  mapfile -t COMPREPLY < <(compgen -W \"$values\" -- \"$current\")\n";
  out += "  if ((files)); then\n    compopt -o filenames 2>/dev/null\n";
  out += "    mapfile -t COMPREPLY < <(compgen -f -- \"$current\")\n  fi\n}\n";
  out += "complete -F _tamis tamis\n";
  return out;
}

}  // namespace tamis::cli
