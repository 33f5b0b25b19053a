// Reads and writes Matrix Market: a banner, comments, a line of sizes, then one entry per line.
// Coordinate files list row, column and value; array files list every value column by column.
#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "core/atomic_file.h"
#include "core/fail.h"
#include "core/text.h"
#include "lab/pattern/parsers.h"
#include "lab/pattern/rows.h"

namespace tamis::lab {
namespace {

class Reader {
 public:
  Reader(const core::ByteSource& source, std::string_view text, const ProgressCallback& progress)
      : file_(source.name()),
        lines_(core::without_byte_order_mark(text)),
        size_(source.size()),
        read_(source, progress) {}

  Pattern read() {
    read_banner();
    read_sizes();
    std::vector<pattern::PatternEntry> entries = coordinate_ ? read_coordinates() : read_array();
    if (next_line()) fail_line(fmt::format("comes after the last of {} entries", count_));
    Pattern pattern;
    pattern.rows = rows_;
    pattern.cols = cols_;
    pattern::fill_rows(file_, std::move(entries), 1, pattern);
    return pattern;
  }

 private:
  [[noreturn]] void fail_line(std::string_view what) const {
    core::fail(Code::input, "{}: line {} {}", file_, lines_.number(), what);
  }
  [[noreturn]] void fail_file(std::string_view what) const {
    core::fail(Code::input, "{}: {}", file_, what);
  }

  /// Reads the next line that is neither blank nor a comment. Returns false at the end of the file.
  bool next_line() {
    while (lines_.next(line_)) {
      read_.at(size_ - lines_.bytes_left());
      std::string_view probe = line_;
      const std::string_view first = core::next_field(probe);
      if (!first.empty() && first[0] != '%') return true;
    }
    return false;
  }

  void read_banner() {
    std::array<std::string, 5> words;
    lines_.next(line_);
    for (std::string& word : words) {
      word = core::next_field(line_);
      std::ranges::transform(word, word.begin(),
                             [](char c) { return 'A' <= c && c <= 'Z' ? c - 'A' + 'a' : c; });
    }
    const auto& [mark, object, format, field, symmetry] = words;
    if (mark != "%%matrixmarket" || object != "matrix" ||
        (format != "coordinate" && format != "array"))
      fail_file(
          "is not Matrix Market; it must begin with '%%MatrixMarket matrix coordinate' or '… "
          "array'");
    if (field != "real" && field != "double" && field != "integer" && field != "pattern")
      fail_file(fmt::format("holds {} values; a pattern needs real, integer or pattern",
                            core::quote(field)));
    if (symmetry == "skew-symmetric")
      fail_file(
          "is skew-symmetric, so it has negative entries; a pattern's entries must be positive");
    if (symmetry != "general" && symmetry != "symmetric")
      fail_file(fmt::format("has the symmetry {}; it must be general or symmetric",
                            core::quote(symmetry)));
    coordinate_ = format == "coordinate";
    has_values_ = field != "pattern";
    whole_ = field == "integer";
    symmetric_ = symmetry == "symmetric";
    if (!coordinate_ && !has_values_)
      fail_file("is an array without values; only coordinate files can be 'pattern'");
  }

  void read_sizes() {
    if (!next_line()) fail_file("ends before the line of sizes; it is truncated");
    const auto rows = core::parse_int(core::next_field(line_));
    const auto cols = core::parse_int(core::next_field(line_));
    const auto count =
        coordinate_ ? core::parse_int(core::next_field(line_)) : std::optional<std::int64_t>(0);
    if (!rows || !cols || !count || *rows < 0 || *cols < 0 || *count < 0 ||
        !core::next_field(line_).empty())
      fail_line(fmt::format("must hold the numbers of {}, from 0 to 2^63 − 1",
                            coordinate_ ? "rows, columns and entries" : "rows and columns"));
    if (*rows < 1 || *cols < 1)
      fail_line(fmt::format("gives {} × {}; a pattern needs at least one row and one column", *rows,
                            *cols));
    rows_ = *rows;
    cols_ = *cols;
    count_ = *count;
    if (symmetric_ && rows_ != cols_)
      fail_line(fmt::format("gives {} × {}; a symmetric matrix is square", rows_, cols_));
    // Check before anything is allocated that the rest of the file can hold the announced entries.
    if (!coordinate_) {
      std::int64_t all = 0;
      if (__builtin_mul_overflow(rows_, cols_, &all) || all / 2 > lines_.bytes_left())
        fail_short(fmt::format("{} × {}", rows_, cols_));
      count_ = symmetric_ ? (all - rows_) / 2 + rows_ : all;
    }
    const std::int64_t shortest = !coordinate_  ? 2
                                  : has_values_ ? 6
                                                : 4;  // "1\n", "1 1 1\n", "1 1\n"
    if (count_ > (lines_.bytes_left() + 1) / shortest) fail_short(std::to_string(count_));
  }

  [[noreturn]] void fail_short(std::string_view announced) const {
    fail_file(
        fmt::format("announces {} entries, but holds fewer; it is truncated or its sizes are wrong",
                    announced));
  }

  double read_value() {
    const std::string_view field = core::next_field(line_);
    if (whole_) {
      const auto value = core::parse_int(field);
      if (!value || *value < 0)
        fail_line(fmt::format(
            "has the value {}; in a file of integers it must be a whole number from 0 to 2^63 − 1",
            core::quote(field)));
      return static_cast<double>(*value);
    }
    const auto value = core::parse_f64(field);
    if (!value || *value < 0)
      fail_line(fmt::format(
          "has the value {}; it must be 0 or a number within the range of f64, 4.94e-324 to "
          "1.79e308",
          core::quote(field)));
    return *value;
  }

  std::int64_t read_index(std::int64_t size, std::string_view what) {
    const std::string_view field = core::next_field(line_);
    const auto index = core::parse_int(field);
    if (!index || *index < 1 || *index > size)
      fail_line(fmt::format("has the {} {}; it must be a whole number from 1 to {}", what,
                            core::quote(field), size));
    return *index - 1;
  }

  void add(std::vector<pattern::PatternEntry>& entries, const pattern::PatternEntry& entry) const {
    entries.push_back(entry);
    if (symmetric_ && entry.row != entry.column)
      entries.push_back({entry.column, entry.row, entry.value});
  }

  std::vector<pattern::PatternEntry> read_coordinates() {
    std::vector<pattern::PatternEntry> entries;
    entries.reserve(static_cast<std::size_t>(symmetric_ ? 2 * count_ : count_));
    for (std::int64_t i = 0; i < count_; ++i) {
      if (!next_line()) fail_short(std::to_string(count_));
      const std::int64_t row = read_index(rows_, "row");
      const std::int64_t column = read_index(cols_, "column");
      const double value = has_values_ ? read_value() : 1.0;
      if (!core::next_field(line_).empty())
        fail_line(fmt::format("has more than {} fields", has_values_ ? 3 : 2));
      add(entries, {row, column, value});
    }
    return entries;
  }

  std::vector<pattern::PatternEntry> read_array() {
    std::vector<pattern::PatternEntry> entries;
    for (std::int64_t column = 0; column < cols_; ++column) {
      for (std::int64_t row = symmetric_ ? column : 0; row < rows_; ++row) {
        if (!next_line()) fail_short(std::to_string(count_));
        const double value = read_value();
        if (!core::next_field(line_).empty()) fail_line("has more than one field");
        if (value != 0) add(entries, {row, column, value});
      }
    }
    return entries;
  }

  const std::string& file_;
  core::Lines lines_;
  std::int64_t size_;  ///< of the file, in bytes
  pattern::ReadProgress read_;
  std::string_view line_;
  bool coordinate_ = true;
  bool has_values_ = true;
  bool whole_ = false;  ///< values are integers
  bool symmetric_ = false;
  std::int64_t rows_ = 0;
  std::int64_t cols_ = 0;
  std::int64_t count_ = 0;
};

}  // namespace

Pattern pattern::parse_matrix_market(const core::ByteSource& source,
                                     const ProgressCallback& progress) {
  const std::string text = core::read_all(source);
  return Reader(source, text, progress).read();
}

void write_matrix_market(const std::string& path, const Pattern& pattern) {
  constexpr std::size_t chunk = 1 << 16;
  core::AtomicFile file(path);
  fmt::memory_buffer buffer;
  const auto out = std::back_inserter(buffer);
  const auto flush = [&] {
    file.write(std::string_view(buffer.data(), buffer.size()));
    buffer.clear();
  };
  fmt::format_to(out, "%%MatrixMarket matrix coordinate real general\n{} {} {}\n", pattern.rows,
                 pattern.cols, pattern.nonzeros());
  for (std::int64_t row = 0; row < pattern.rows; ++row) {
    const auto columns = pattern.columns_of(row);
    const auto values = pattern.values_of(row);
    for (std::size_t i = 0; i < columns.size(); ++i) {
      // {} is the shortest text that reads back as the same double.
      fmt::format_to(out, "{} {} {}\n", row + 1, columns[i] + 1, values[i]);
      if (buffer.size() > chunk) flush();
    }
  }
  flush();
  file.commit();
}

}  // namespace tamis::lab
