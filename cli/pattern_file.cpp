#include "pattern_file.h"

#include <fmt/format.h>

#include <algorithm>

#include <tamis/text.h>

namespace tamis::cli {

lab::Pattern PatternFile::read(const ProgressCallback& progress) const {
  return lab::read_pattern(name, drop_empty ? lab::EmptyTopics::drop : lab::EmptyTopics::refuse,
                           progress);
}

void add_pattern(CLI::App& app, Files& files, PatternFile& pattern) {
  files
      .reads(
          app.add_option("PATTERN", pattern.name, "a pattern: Matrix Market, .npy or TREC qrels"),
          "PATTERN")
      ->required();
  add_drop_empty(app, pattern);
}

void add_drop_empty(CLI::App& app, PatternFile& pattern) {
  app.add_flag("--drop-empty", pattern.drop_empty,
               "leave out topics of qrels that have no relevant document, and say which");
}

std::string dropped_text(const lab::Pattern& pattern, int width) {
  constexpr std::size_t most_named = 10;
  const std::size_t count = pattern.dropped.size();
  if (count == 0) return {};
  std::string text = fmt::format("{:<{}}{} topic{} without a relevant document: ", "dropped", width,
                                 count, count == 1 ? "" : "s");
  for (std::size_t i = 0; i < std::min(count, most_named); ++i)
    text += fmt::format("{}{}", i == 0 ? "" : ", ", printable(pattern.dropped[i]));
  if (count > most_named) text += fmt::format(" and {} more", count - most_named);
  return text + '\n';
}

}  // namespace tamis::cli
