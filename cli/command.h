// What a subcommand is. To add one: write a file that defines `Run declare_NAME(CLI::App&, Files&,
// const Globals&)` and add NAME to the table in commands.cpp; help, manual and completion follow
// from its declaration.
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
  int threads = 0;  ///< 0: every core this process may use
  std::string backend = "cpu";
  std::string typed;  ///< the whole command line, fit for a shell
};

/// Threads asked for, or every core this process may use.
int threads_of(const Globals& globals);

/// Restricts a value to these words, which help and completion then offer.
void one_of(CLI::Option* option, const std::vector<std::string>& words);

/// Restricts a number to 1 and above.
void at_least_one(CLI::Option* option);

/// Restricts a seed to what 64 bits hold: a sign would be taken modulo 2^64.
void a_seed(CLI::Option* option);

/// What to do once the options are parsed; returns the exit status: 0 done, 1 the answer is no.
using Run = std::function<int()>;

/// How a subcommand is declared on its App:
///   description  the first line is the summary; the paragraphs after it are the manual, in which a
///   line
///                that begins with two spaces is kept as it is
///   footer       one example, a command that runs at the root of the repository
///   type_name    of an option: NAME (a word), a|b|c (one of these); `Files` gives that of a file
///   (FILE,
///                TRACE, PATTERN or WITNESS), whose options are declared there as well
struct Command {
  const char* name;
  Run (*declare)(CLI::App& app, Files& files, const Globals& globals);
};

/// The program: its global options and all subcommands, ready to parse.
class Program {
 public:
  Program();
  Program(const Program&) = delete;
  Program& operator=(const Program&) = delete;

  CLI::App& app() { return app_; }
  /// Throws `usage` if the words make no sense, and what CLI11 throws for --help and --version.
  void parse(int argc, const char* const* argv);
  /// A rank that shares a sweep: rank 0 speaks for all of them.
  [[nodiscard]] bool follows() const;
  /// Checks the files of the subcommand that was parsed, then runs it.
  int run();

 private:
  Globals globals_;
  Files files_;  ///< of the subcommand that was parsed
  Run run_;
  CLI::App app_;
};

}  // namespace tamis::cli
