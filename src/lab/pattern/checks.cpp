// The rules that every pattern must obey, and the parameters that the bounds of the theory need.
#include "lab/pattern/checks.h"

#include <algorithm>
#include <limits>

#include "core/fail.h"

namespace tamis::lab {
namespace {

void check_offsets(const Pattern& pattern) {
  const auto& start = pattern.row_start;
  if (pattern.rows < 1 || pattern.cols < 1)
    core::fail(Code::input, "the pattern is {} × {}; it needs at least one row and one column",
               pattern.rows, pattern.cols);
  if (start.size() != static_cast<std::size_t>(pattern.rows) + 1 || start.front() != 0 ||
      start.back() != pattern.nonzeros() || pattern.value.size() != pattern.column.size())
    core::fail(Code::input,
               "the pattern has {} rows, {} offsets, {} columns and {} values; it needs rows + 1 "
               "offsets from 0 to the number of columns, and as many values",
               pattern.rows, start.size(), pattern.column.size(), pattern.value.size());
  for (std::size_t row = 0; row + 1 < start.size(); ++row)
    if (start[row + 1] <= start[row])
      core::fail(Code::input,
                 "row {} of the pattern (from 0) has no nonzero; every row needs at least one",
                 row);
}

std::int64_t most_per_column(const Pattern& pattern) {
  std::int64_t most = 0;
  if (pattern.cols <= pattern.nonzeros()) {
    std::vector<std::int64_t> count(static_cast<std::size_t>(pattern.cols));
    for (const std::int64_t column : pattern.column)
      most = std::max(most, ++count[static_cast<std::size_t>(column)]);
    return most;
  }
  // A file may claim any number of columns, so memory must depend on the nonzeros only.
  std::vector<std::int64_t> sorted = pattern.column;
  std::ranges::sort(sorted);
  std::int64_t run = 0;
  for (std::size_t i = 0; i < sorted.size(); ++i) {
    run = i > 0 && sorted[i] == sorted[i - 1] ? run + 1 : 1;
    most = std::max(most, run);
  }
  return most;
}

}  // namespace

void pattern::check_pattern(const Pattern& pattern) {
  check_offsets(pattern);
  for (std::int64_t row = 0; row < pattern.rows; ++row) {
    std::int64_t before = -1;
    for (const std::int64_t column : pattern.columns_of(row)) {
      if (column <= before || column >= pattern.cols)
        core::fail(Code::input,
                   "row {} of the pattern (from 0) has the column {} after {}; columns must ascend "
                   "from 0 to {}",
                   row, column, before, pattern.cols - 1);
      before = column;
    }
    for (const double value : pattern.values_of(row))
      if (!(value > 0 && value <= std::numeric_limits<double>::max()))
        core::fail(
            Code::input,
            "row {} of the pattern (from 0) has the value {}; it must be positive and finite", row,
            value);
  }
}

void pattern::check_causal(const Pattern& pattern) {
  if (pattern.rows != pattern.cols)
    core::fail(Code::input, "the pattern is {} × {}; a causal one is square", pattern.rows,
               pattern.cols);
  for (std::int64_t row = 0; row < pattern.rows; ++row)
    if (pattern.columns_of(row).back() > row)
      core::fail(Code::input,
                 "the pattern has a nonzero at row {}, column {} (from 0), above the diagonal; a "
                 "causal pattern has none",
                 row, pattern.columns_of(row).back());
}

PatternFigures figures_of(const Pattern& pattern) {
  pattern::check_pattern(pattern);
  PatternFigures figures;
  figures.causal = pattern.rows == pattern.cols;
  for (std::int64_t row = 0; row < pattern.rows; ++row) {
    const auto columns = pattern.columns_of(row);
    const auto [least, most] = std::ranges::minmax(pattern.values_of(row));
    figures.most_per_row =
        std::max(figures.most_per_row, static_cast<std::int64_t>(columns.size()));
    figures.gamma = std::max(figures.gamma, most / least);
    figures.causal = figures.causal && columns.back() <= row;
  }
  figures.most_per_column = most_per_column(pattern);
  return figures;
}

}  // namespace tamis::lab
