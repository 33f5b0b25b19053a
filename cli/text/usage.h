// Puts errors of the command line into a sentence, and rejects mistakes that CLI11 would accept.
#pragma once

#include <CLI/CLI.hpp>
#include <string>

namespace tamis::cli {

/// Returns the sentence that describes a parse error. `app` is the program as far as it was
/// parsed.
std::string usage_sentence(const CLI::App& app, const CLI::ParseError& error);

/// Throws Error(usage) for a switch that is given a value and for an option without a value. CLI11
/// takes the next word as the value even if that word is an option, which users can mean only by
/// writing --out=--json. `app` is the program as far as it was parsed.
void check_values(const CLI::App& app, int argc, const char* const* argv);

bool asks_for_json(int argc, const char* const* argv);

/// Returns the words quoted as they would have to be typed in a shell.
std::string command_line(int argc, const char* const* argv);

}  // namespace tamis::cli
