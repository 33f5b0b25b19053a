// The file of a pattern, as every command takes it that reads one.
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

/// PATTERN and --drop-empty.
void add_pattern(CLI::App& app, Files& files, PatternFile& pattern);
void add_drop_empty(CLI::App& app, PatternFile& pattern);

/// A line of a report that says which topics were dropped, its heading `width` columns wide; empty
/// if none were.
std::string dropped_text(const lab::Pattern& pattern, int width);

}  // namespace tamis::cli
