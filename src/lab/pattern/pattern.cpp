// Detects the format of a pattern file, reads .npy patterns, and holds what all formats share.
#include <tamis/lab/pattern.h>

#include <algorithm>
#include <filesystem>

#include "core/fail.h"
#include "core/text.h"
#include "lab/io/parsers.h"
#include "lab/io/tensor_values.h"
#include "lab/pattern/parsers.h"
#include "lab/pattern/rows.h"

namespace tamis::lab {
namespace {

void check_row(const Pattern& pattern, std::int64_t row) {
  if (row < 0 || row >= pattern.rows)
    core::fail(Code::usage, "row {} is not in a pattern of {} rows", row, pattern.rows);
}

std::string row_text(const Pattern& pattern, std::int64_t row, int first_index) {
  if (pattern.row_names.empty()) return fmt::format("row {}", row + first_index);
  return "topic " + core::quote(pattern.row_names[static_cast<std::size_t>(row)]);
}

std::string column_text(const Pattern& pattern, std::int64_t column, int first_index) {
  if (pattern.column_names.empty()) return fmt::format("column {}", column + first_index);
  return "document " + core::quote(pattern.column_names[static_cast<std::size_t>(column)]);
}

std::string first_bytes(const core::ByteSource& source) {
  std::string bytes(static_cast<std::size_t>(std::min<std::int64_t>(source.size(), 16)), '\0');
  source.read_at(0, std::as_writable_bytes(std::span(bytes)));
  return bytes;
}

}  // namespace

std::span<const std::int64_t> Pattern::columns_of(std::int64_t row) const {
  check_row(*this, row);
  const auto begin = static_cast<std::size_t>(row_start[static_cast<std::size_t>(row)]);
  const auto end = static_cast<std::size_t>(row_start[static_cast<std::size_t>(row) + 1]);
  return std::span(column).subspan(begin, end - begin);
}

std::span<const double> Pattern::values_of(std::int64_t row) const {
  check_row(*this, row);
  const auto begin = static_cast<std::size_t>(row_start[static_cast<std::size_t>(row)]);
  const auto end = static_cast<std::size_t>(row_start[static_cast<std::size_t>(row) + 1]);
  return std::span(value).subspan(begin, end - begin);
}

void pattern::ReadProgress::at(std::int64_t bytes) {
  constexpr std::int64_t between = 1 << 20;
  if (!progress_ || bytes - told_ < between) return;
  told_ = bytes;
  if (!progress_(static_cast<double>(bytes), static_cast<double>(source_.size())))
    core::fail(Code::cancelled, "{}: reading was stopped after {} of {} bytes", source_.name(),
               bytes, source_.size());
}

void pattern::fail_empty_row(const std::string& file, const Pattern& pattern, std::int64_t row,
                             int first_index) {
  core::fail(Code::input, "{}: {} has no {}; every row of a pattern needs at least one", file,
             row_text(pattern, row, first_index),
             pattern.row_names.empty() ? "nonzero" : "relevant document");
}

void pattern::fill_rows(const std::string& file, std::vector<PatternEntry> entries, int first_index,
                        Pattern& pattern) {
  if (pattern.rows < 1)
    core::fail(Code::input, "{}: the pattern has no rows; it needs at least one", file);
  if (pattern.rows > static_cast<std::int64_t>(entries.size()))
    core::fail(
        Code::input,
        "{}: the pattern has {} rows but only {} entries; every row needs at least one nonzero",
        file, pattern.rows, entries.size());

  struct Cell {
    std::int64_t column;
    double value;
  };
  const auto rows = static_cast<std::size_t>(pattern.rows);
  std::vector<std::size_t> start(rows + 1);
  for (const PatternEntry& entry : entries) ++start[static_cast<std::size_t>(entry.row) + 1];
  for (std::size_t row = 0; row < rows; ++row) start[row + 1] += start[row];
  std::vector<Cell> cells(entries.size());
  std::vector<std::size_t> next(start.begin(), start.end() - 1);
  for (const PatternEntry& entry : entries)
    cells[next[static_cast<std::size_t>(entry.row)]++] = {entry.column, entry.value};
  entries = {};

  pattern.row_start.assign(1, 0);
  for (std::size_t row = 0; row < rows; ++row) {
    const auto in_row = std::span(cells).subspan(start[row], start[row + 1] - start[row]);
    if (!std::ranges::is_sorted(in_row, {}, &Cell::column))
      std::ranges::sort(in_row, {}, &Cell::column);
    const auto twice = std::ranges::adjacent_find(in_row, {}, &Cell::column);
    const auto number = static_cast<std::int64_t>(row);
    if (twice != in_row.end())
      core::fail(Code::input, "{}: the entry at {}, {} is given twice; each may be given once",
                 file, row_text(pattern, number, first_index),
                 column_text(pattern, twice->column, first_index));
    for (const Cell& cell : in_row) {
      if (cell.value == 0) continue;
      pattern.column.push_back(cell.column);
      pattern.value.push_back(cell.value);
    }
    if (pattern.nonzeros() == pattern.row_start.back())
      fail_empty_row(file, pattern, number, first_index);
    pattern.row_start.push_back(pattern.nonzeros());
  }
}

Pattern pattern::parse_npy_pattern(const core::ByteSource& source,
                                   const ProgressCallback& progress) {
  const Tensor tensor = io::parse_npy(source);
  const std::string& file = source.name();
  const auto& shape = tensor.info().shape;
  if (shape.size() != 2)
    core::fail(Code::input, "{}: the array has {} dimensions {}; a pattern is a matrix and has 2",
               file, shape.size(), core::shape_text(shape));
  Pattern pattern;
  pattern.rows = shape[0];
  pattern.cols = shape[1];
  if (pattern.rows < 1 || pattern.cols < 1)
    core::fail(Code::input,
               "{}: the matrix is {} × {}; a pattern needs at least one row and one column", file,
               pattern.rows, pattern.cols);
  const DType dtype = tensor.info().dtype;
  std::vector<double> row(static_cast<std::size_t>(pattern.cols));
  pattern.row_start.assign(1, 0);
  ReadProgress read(source, progress);
  for (std::int64_t i = 0; i < pattern.rows; ++i) {
    read.at(i * pattern.cols * size_of(dtype));
    const std::byte* const numbers = tensor.bytes().data() + i * pattern.cols * size_of(dtype);
    io::convert_to_f64(dtype, numbers, row);
    for (std::size_t j = 0; j < row.size(); ++j) {
      if (row[j] == 0) continue;
      if (!(row[j] > 0 && row[j] <= std::numeric_limits<double>::max()))
        core::fail(
            Code::input,
            "{}: the entry at [{}, {}] is {}; a pattern's entries must be finite and not negative",
            file, i, j,
            io::is_float(dtype)
                ? fmt::format("{}", row[j])
                : io::integer_text(dtype, numbers + static_cast<std::int64_t>(j) * size_of(dtype)));
      pattern.column.push_back(static_cast<std::int64_t>(j));
      pattern.value.push_back(row[j]);
    }
    if (pattern.nonzeros() == pattern.row_start.back()) fail_empty_row(file, pattern, i, 0);
    pattern.row_start.push_back(pattern.nonzeros());
  }
  return pattern;
}

Pattern read_pattern(const std::string& path, EmptyTopics empty, const ProgressCallback& progress) {
  const auto source = core::open_file(path);
  const std::string ending = std::filesystem::path(path).extension().string();
  const std::string begin = first_bytes(*source);
  if (begin.starts_with("\x1f\x8b"))
    core::fail(Code::input, "{}: is compressed with gzip; give the uncompressed file", path);
  const bool known = ending == ".qrels" || ending == ".txt" || ending == ".tsv";
  const bool npy =
      ending == ".npy" || (!known && ending != ".mtx" && begin.starts_with("\x93NUMPY"));
  const bool matrix_market =
      ending == ".mtx" ||
      (!known && !npy && core::without_byte_order_mark(begin).starts_with("%%"));
  if ((npy || matrix_market) && empty == EmptyTopics::drop)
    core::fail(Code::usage, "{}: is a matrix; --drop-empty leaves topics out of qrels alone", path);
  if (npy) return pattern::parse_npy_pattern(*source, progress);
  return matrix_market ? pattern::parse_matrix_market(*source, progress)
                       : pattern::parse_qrels(*source, empty, progress);
}

}  // namespace tamis::lab
