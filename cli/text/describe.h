// The description of the program, read from the declared options. Help, manual and shell
// completion are all made from it.
#pragma once

#include <string>
#include <vector>

// Declared here because CLI11's header is slow to compile.
namespace CLI {
class App;
}

namespace tamis::cli {

struct OptionText {
  std::string short_name;            ///< "h", or empty
  std::string long_name;             ///< "help"; empty for a positional argument
  std::string word;                  ///< the name of a positional argument in usage lines
  std::string value;                 ///< "N", "FILE" or "a|b"; empty for a flag
  std::vector<std::string> choices;  ///< the words of "a|b"
  std::string text;
  bool takes_file = false;
  bool repeats = false;
  bool required = false;

  [[nodiscard]] bool positional() const { return long_name.empty(); }
  /// "-h, --help", "--threads N", "TRACE".
  [[nodiscard]] std::string heading() const;
};

/// A piece of a manual: a paragraph, or lines that are kept as they are.
struct Paragraph {
  bool verbatim = false;
  std::string text;
};

struct CommandText {
  std::string name;  ///< "attend", or "tamis" for the program
  std::string summary;
  std::vector<Paragraph> body;
  std::vector<OptionText> positionals;
  std::vector<OptionText> options;
  std::string example;

  /// "tamis attend", or "tamis" for the program.
  [[nodiscard]] std::string full_name() const;
  /// "tamis attend TRACE [options]".
  [[nodiscard]] std::string usage() const;
};

struct ProgramText {
  CommandText program;  ///< its options are the global options
  std::vector<CommandText> commands;
};

CommandText describe_command(const CLI::App& app);
/// `app` is the program or one of its subcommands.
ProgramText describe_program(const CLI::App& app);

/// Exit status and environment variables, which are the same for all commands.
std::vector<OptionText> exit_statuses();
std::vector<OptionText> environment();

}  // namespace tamis::cli
