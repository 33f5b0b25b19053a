// Command lines: one that cannot be parsed in a sentence, and what CLI11 would let pass.
#pragma once

#include <CLI/CLI.hpp>
#include <string>

namespace tamis::cli {

/// `app` is the program as far as it was parsed.
std::string usage_sentence(const CLI::App& app, const CLI::ParseError& error);

/// Throws `usage` for a switch that is given a value, and for an option without one: CLI11 takes
/// the next word for it, be that an option (which can be meant only as --out=--json). `app` is the
/// program as far as it was parsed.
void check_values(const CLI::App& app, int argc, const char* const* argv);

bool asks_for_json(int argc, const char* const* argv);

/// The words as they would have to be typed.
std::string command_line(int argc, const char* const* argv);

}  // namespace tamis::cli
