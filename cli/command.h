// What all subcommands share. To add a subcommand, write a file that defines `Run
// declare_NAME(CLI::App&, Files&, const Globals&)` and add NAME to the table in commands.cpp.
// Help, manual and completion follow from its declaration.
#pragma once

#include <CLI/CLI.hpp>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "files.h"

namespace tamis::cli {

/// Options that every subcommand takes, before or after its name.
struct Globals {
  bool json = false;
  int threads = 0;  ///< 0 means every core that this process may use
  std::string backend = "cpu";
  std::string typed;  ///< the whole command line, quoted for a shell
};

/// Returns the number of threads asked for, or of cores that this process may use.
int threads_of(const Globals& globals);

/// Restricts the value of `option` to these words, which help and completion then offer.
void one_of(CLI::Option* option, const std::vector<std::string>& words);

/// Restricts the value of `option` to whole numbers from 1 on.
void at_least_one(CLI::Option* option);

/// Restricts a seed to 0 … 2^64 − 1. Without this check CLI11 would take a negative number modulo
/// 2^64.
void a_seed(CLI::Option* option);

/// The work of a subcommand, called after the options are parsed. Returns the exit status: 0 if it
/// is done, 1 if the answer is no.
using Run = std::function<int()>;

/// How a subcommand declares itself on its CLI::App:
///   description  The first line is the summary. The paragraphs after it are the manual, in which
///                a line that begins with two spaces is kept as it is.
///   footer       One example: a command that runs at the root of the repository.
///   type_name    For an option, NAME (a word) or a|b|c (one of these). `Files` sets the type of
///                options that name a file (FILE, TRACE, PATTERN or WITNESS), and these options
///                are declared there too.
struct Command {
  const char* name;
  Run (*declare)(CLI::App& app, Files& files, const Globals& globals);
};

/// The program with its global options and all subcommands, ready to parse.
class Program {
 public:
  Program();
  Program(const Program&) = delete;
  Program& operator=(const Program&) = delete;

  CLI::App& app() { return app_; }
  /// Parses the command line. Throws Error(usage) if it is invalid, and lets CLI11's exceptions
  /// for --help and --version pass.
  void parse(int argc, const char* const* argv);
  /// Whether this process is a rank other than 0 of a sweep. Such a rank prints nothing: rank 0
  /// prints for all of them.
  [[nodiscard]] bool follows() const;
  /// Checks the files of the subcommand that was parsed, then runs it. Returns its exit status.
  int run();

 private:
  Globals globals_;
  Files files_;  ///< of the subcommand that was parsed
  Run run_;
  CLI::App app_;
};

}  // namespace tamis::cli
