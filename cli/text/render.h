// The forms in which the program describes itself. Each is a function of the description alone.
#pragma once

#include <string>

#include "text/describe.h"

namespace tamis::cli {

/// --help of the program or of a subcommand, wrapped to 80 columns.
std::string help_text(const CLI::App& app);

/// The manual page tamis(1) in roff.
std::string man_text(const ProgramText& program);
/// The same manual in Markdown.
std::string markdown_text(const ProgramText& program);

/// Completion of commands, options, choices and file names.
std::string bash_completion(const ProgramText& program);
std::string zsh_completion(const ProgramText& program);
std::string fish_completion(const ProgramText& program);

}  // namespace tamis::cli
