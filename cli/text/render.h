// Renders the description of the program in several formats. Each function depends on its argument
// alone.
#pragma once

#include <string>

#include "text/describe.h"

namespace tamis::cli {

/// Returns the text of --help for the program or a subcommand, wrapped to 80 columns.
std::string help_text(const CLI::App& app);

/// Returns the manual page tamis(1) in roff.
std::string man_text(const ProgramText& program);
/// Returns the same manual in Markdown.
std::string markdown_text(const ProgramText& program);

/// These return scripts that complete commands, options, choices and file names.
std::string bash_completion(const ProgramText& program);
std::string zsh_completion(const ProgramText& program);
std::string fish_completion(const ProgramText& program);

}  // namespace tamis::cli
