// The argument PATTERN and its option, shared by every command that reads a pattern.
#pragma once

#include <string>

#include <tamis/lab/pattern.h>
#include <tamis/progress.h>

#include "command.h"

namespace tamis::cli {

struct PatternFile {
  std::string name;
  bool drop_empty = false;

  [[nodiscard]] lab::Pattern read(const ProgressCallback& progress = {}) const;
};

/// Declares PATTERN and --drop-empty.
void add_pattern(CLI::App& app, Files& files, PatternFile& pattern);
void add_drop_empty(CLI::App& app, PatternFile& pattern);

/// Returns a line of a report that says which topics were dropped, with its heading padded to
/// `width` columns. Empty if none were dropped.
std::string dropped_text(const lab::Pattern& pattern, int width);

}  // namespace tamis::cli
