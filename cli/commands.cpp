// The table of subcommands, and the options that all of them share.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <charconv>

#include <tamis/error.h>
#include <tamis/info.h>

#include "command.h"
#include "sweep/launch.h"
#include "text/render.h"
#include "text/usage.h"

// Listed in the order of the manual.
#define TAMIS_COMMANDS(COMMAND) \
  COMMAND(info)                 \
  COMMAND(attend)               \
  COMMAND(bench)                \
  COMMAND(profile)              \
  COMMAND(pattern)              \
  COMMAND(realise)              \
  COMMAND(verify)               \
  COMMAND(decide)               \
  COMMAND(frontier)             \
  COMMAND(dmin)                 \
  COMMAND(sweep)                \
  COMMAND(manual)               \
  COMMAND(completion)

namespace tamis::cli {

#define DECLARE(name) Run declare_##name(CLI::App& app, Files& files, const Globals& globals);
TAMIS_COMMANDS(DECLARE)
#undef DECLARE

namespace {

#define LIST(name) Command{#name, declare_##name},
constexpr std::array commands{TAMIS_COMMANDS(LIST)};
#undef LIST

constexpr int most_threads = 4096;

std::string check_threads(const std::string& text) {
  int threads = 0;
  if (CLI::detail::lexical_cast(text, threads) && threads >= 1 && threads <= most_threads)
    return {};
  return fmt::format("'{}' is not a whole number from 1 to {}", text, most_threads);
}

}  // namespace

int threads_of(const Globals& globals) {
  return globals.threads > 0 ? globals.threads : hardware_threads();
}

void one_of(CLI::Option* option, const std::vector<std::string>& words) {
  const auto check = [words](const std::string& value) {
    if (std::ranges::find(words, value) != words.end()) return std::string();
    return fmt::format("there is no '{}'; available: {}", value, fmt::join(words, ", "));
  };
  option->type_name(fmt::format("{}", fmt::join(words, "|")))
      ->check(CLI::Validator(check, "", "one of"));
}

void at_least_one(CLI::Option* option) {
  const auto check = [](const std::string& text) {
    std::int64_t number = 0;
    if (CLI::detail::lexical_cast(text, number) && number >= 1) return std::string();
    return fmt::format("'{}' is not a whole number from 1 on", text);
  };
  option->check(CLI::Validator(check, "", "at least one"));
}

void a_seed(CLI::Option* option) {
  const auto check = [](const std::string& text) {
    std::uint64_t seed = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), seed);
    if (error == std::errc() && end == text.data() + text.size()) return std::string();
    return fmt::format("'{}' is not a whole number from 0 to 2^64 - 1", text);
  };
  option->check(CLI::Validator(check, "", "seed"));
}

Program::Program()
    : app_(
          "sparse self-attention, with evidence\n\n"
          "tamis computes attention over captured queries, keys and values and says, for every "
          "result, what it proves. Results go to standard output, errors to standard error as one "
          "sentence. Inputs are never modified; outputs appear under their name only when they are "
          "complete. Files that a command writes must be others than those that it reads, and "
          "others than one another, through links too; otherwise nothing is done.\n\n"
          "With --json an error is also an object on standard output, {\"error\": {\"code\", "
          "\"message\"}}: code is usage (the command line), input (a file that is read) or failed "
          "(all else), message the sentence on standard error. The exit status is the same with "
          "and without --json. A command that is interrupted prints no object; a sweep whose "
          "points failed prints its own, which says so of each.",
          "tamis") {
  app_.formatter_fn(
      [](const CLI::App* app, const std::string&, CLI::AppFormatMode) { return help_text(*app); });
  app_.fallthrough();
  app_.require_subcommand(1);
  app_.set_help_flag("-h,--help", "print this help and exit");
  app_.set_version_flag("--version", fmt::format("tamis {}", version()),
                        "print the version and exit");
  app_.add_flag("--json", globals_.json, "print one JSON object instead of a table");
  app_.add_option("--threads", globals_.threads, "threads to use (default: every core available)")
      ->type_name("N")
      ->check(CLI::Validator(check_threads, "", "threads"));
  one_of(app_.add_option("--backend", globals_.backend, "what computes (default: cpu)"), {"cpu"});
  for (const Command& command : commands) {
    CLI::App* sub = app_.add_subcommand(command.name);
    Files files;
    const Run run = command.declare(*sub, files, globals_);
    // CLI11 runs callbacks while it parses. The subcommand itself runs later, outside CLI11's
    // error handling.
    sub->callback([this, files, run] {
      files_ = files;
      run_ = run;
    });
  }
}

void Program::parse(int argc, const char* const* argv) {
  globals_.typed = command_line(argc, argv);
  try {
    app_.parse(argc, argv);
    check_values(app_, argc, argv);
  } catch (const CLI::Success&) {  // help or version
    check_values(app_, argc, argv);
    throw;
  } catch (const CLI::ParseError& error) {
    check_values(app_, argc, argv);  // a missing value may cause the other error
    throw Error(Code::usage, usage_sentence(app_, error));
  }
}

bool Program::follows() const { return app_.got_subcommand("sweep") && launch().rank > 0; }

int Program::run() {
  if (!follows()) files_.check();
  return run_();
}

}  // namespace tamis::cli
