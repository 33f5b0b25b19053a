// A command line that cannot be parsed, in one sentence.
#pragma once

#include <CLI/CLI.hpp>
#include <string>

namespace tamis::cli {

/// `app` is the program as far as it was parsed.
std::string usage_sentence(const CLI::App& app, const CLI::ParseError& error);

}  // namespace tamis::cli
