// TREC qrels: lines of topic, iteration, document, relevance. Topics become rows and documents columns,
// in the order in which they first appear; a judged document is a column even if it is relevant to none.
#include <string_view>
#include <unordered_map>

#include "core/fail.h"
#include "io/parsers.h"
#include "io/pattern_rows.h"
#include "io/text.h"

namespace tamis {
namespace {

/// Numbers names in the order in which they come.
class Numbering {
 public:
  std::int64_t number_of(std::string_view name) {
    const auto [found, is_new] = numbers_.try_emplace(name, static_cast<std::int64_t>(names.size()));
    if (is_new) names.emplace_back(name);
    return found->second;
  }
  std::vector<std::string> names;

 private:
  std::unordered_map<std::string_view, std::int64_t> numbers_;
};

}  // namespace

Pattern parse_qrels(const ByteSource& source, const ProgressCallback& progress) {
  const std::string& file = source.name();
  const std::string text = read_all(source);
  if (const auto at = first_not_utf8(text))
    fail(Code::input, "{}: is not UTF-8 at byte {}; qrels are lines of text", file, *at);
  // In C a name ends at its first zero byte, so that two names could become one.
  if (const auto at = text.find('\0'); at != std::string::npos)
    fail(Code::input, "{}: byte {} is zero; qrels are lines of text", file, at);
  Numbering topics;
  Numbering documents;
  std::vector<PatternEntry> entries;
  Lines lines(without_byte_order_mark(text));
  ReadProgress read(source, progress);
  for (std::string_view line; lines.next(line);) {
    read.at(source.size() - lines.bytes_left());
    const std::string_view topic = next_field(line);
    if (topic.empty()) continue;
    next_field(line);  // the iteration, which nobody uses
    const std::string_view document = next_field(line);
    const std::string_view relevance = next_field(line);
    if (relevance.empty() || !next_field(line).empty())
      fail(Code::input,
           "{}: line {} does not have four fields; each line is topic, iteration, document, relevance",
           file, lines.number());
    const auto grade = parse_int(relevance);
    if (!grade)
      fail(Code::input, "{}: the relevance on line {} is {}; it must be a whole number", file,
           lines.number(), quote(relevance));
    // Grades below zero, which some tracks use for junk, are not relevant either.
    entries.push_back({topics.number_of(topic), documents.number_of(document), *grade > 0 ? 1.0 : 0.0});
  }
  if (entries.empty())
    fail(Code::input, "{}: holds no judgements; each line is topic, iteration, document, relevance", file);
  Pattern pattern;
  pattern.row_names = std::move(topics.names);
  pattern.column_names = std::move(documents.names);
  pattern.rows = static_cast<std::int64_t>(pattern.row_names.size());
  pattern.cols = static_cast<std::int64_t>(pattern.column_names.size());
  fill_rows(file, std::move(entries), 1, pattern);
  return pattern;
}

}  // namespace tamis
