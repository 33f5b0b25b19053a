// Reads TREC qrels: lines of topic, iteration, document, relevance. Topics become rows and
// documents become columns, in the order in which they first appear. A judged document is a column
// even if it is relevant to no topic.
#include <string_view>
#include <unordered_map>

#include "core/fail.h"
#include "core/text.h"
#include "lab/pattern/parsers.h"
#include "lab/pattern/rows.h"

namespace tamis::lab::pattern {
namespace {

/// Numbers names in the order of their first appearance.
class Numbering {
 public:
  std::int64_t number_of(std::string_view name) {
    const auto [found, is_new] =
        numbers_.try_emplace(name, static_cast<std::int64_t>(names.size()));
    if (is_new) names.emplace_back(name);
    return found->second;
  }
  std::vector<std::string> names;

 private:
  std::unordered_map<std::string_view, std::int64_t> numbers_;
};

/// Removes the topics without a relevant document from pattern and entries, or throws `input` if
/// `empty` is `refuse`.
void part_from_empty(const std::string& file, EmptyTopics empty, Pattern& pattern,
                     std::vector<PatternEntry>& entries) {
  std::vector<std::int64_t> place(pattern.row_names.size(), -1);
  for (const PatternEntry& entry : entries)
    if (entry.value > 0) place[static_cast<std::size_t>(entry.row)] = 0;
  std::vector<std::string> kept;
  for (std::size_t row = 0; row < place.size(); ++row) {
    std::string& name = pattern.row_names[row];
    if (place[row] == 0) {
      place[row] = std::ssize(kept);
      kept.push_back(std::move(name));
    } else {
      pattern.dropped.push_back(std::move(name));
    }
  }
  if (empty == EmptyTopics::refuse && !pattern.dropped.empty())
    core::fail(Code::input,
               "{}: topic {} has no relevant document{}; every row of a pattern needs at least "
               "one, so leave such topics out (--drop-empty, EmptyTopics::drop)",
               file, core::quote(pattern.dropped.front()),
               pattern.dropped.size() > 1
                   ? fmt::format(", nor have {} others", pattern.dropped.size() - 1)
                   : "");
  if (kept.empty())
    core::fail(Code::input,
               "{}: no topic has a relevant document; a pattern needs at least one row", file);
  pattern.row_names = std::move(kept);
  for (PatternEntry& entry : entries) entry.row = place[static_cast<std::size_t>(entry.row)];
  std::erase_if(entries, [](const PatternEntry& entry) { return entry.row < 0; });
}

}  // namespace

Pattern parse_qrels(const core::ByteSource& source, EmptyTopics empty,
                    const ProgressCallback& progress) {
  const std::string& file = source.name();
  const std::string text = core::read_all(source);
  if (const auto at = core::first_not_utf8(text))
    core::fail(Code::input, "{}: is not UTF-8 at byte {}; qrels are lines of text", file, *at);
  // A name ends at its first zero byte in C, so two names could become one.
  if (const auto at = text.find('\0'); at != std::string::npos)
    core::fail(Code::input, "{}: byte {} is zero; qrels are lines of text", file, at);
  Numbering topics;
  Numbering documents;
  std::vector<PatternEntry> entries;
  core::Lines lines(core::without_byte_order_mark(text));
  ReadProgress read(source, progress);
  for (std::string_view line; lines.next(line);) {
    read.at(source.size() - lines.bytes_left());
    const std::string_view topic = core::next_field(line);
    if (topic.empty()) continue;
    core::next_field(line);  // the iteration, which is not used
    const std::string_view document = core::next_field(line);
    const std::string_view relevance = core::next_field(line);
    if (relevance.empty() || !core::next_field(line).empty())
      core::fail(Code::input,
                 "{}: line {} does not have four fields; each line is topic, iteration, document, "
                 "relevance",
                 file, lines.number());
    const auto grade = core::parse_int(relevance);
    if (!grade)
      core::fail(Code::input, "{}: the relevance on line {} is {}; it must be a whole number", file,
                 lines.number(), core::quote(relevance));
    // Grades below zero, which some tracks use for junk, are not relevant either.
    entries.push_back(
        {topics.number_of(topic), documents.number_of(document), *grade > 0 ? 1.0 : 0.0});
  }
  if (entries.empty())
    core::fail(Code::input,
               "{}: holds no judgements; each line is topic, iteration, document, relevance", file);
  Pattern pattern;
  pattern.row_names = std::move(topics.names);
  pattern.column_names = std::move(documents.names);
  part_from_empty(file, empty, pattern, entries);
  pattern.rows = static_cast<std::int64_t>(pattern.row_names.size());
  pattern.cols = static_cast<std::int64_t>(pattern.column_names.size());
  fill_rows(file, std::move(entries), 1, pattern);
  return pattern;
}

}  // namespace tamis::lab::pattern
