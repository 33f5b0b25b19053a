// C ABI: patterns.
#include "lab/capi/pattern.h"

#include <cmath>

namespace tamis::lab::capi {
namespace {

constexpr std::size_t view_size = 48;  // of the first published version
static_assert(sizeof(tamis_pattern_view) == view_size &&
              TAMIS_ENDS_WITH(tamis_pattern_view, value));

const char* name_at(const std::vector<std::string>& names, std::int64_t index, std::int64_t count,
                    const char* what) {
  if (index < 0 || index >= count)
    core::fail(Code::usage, "{} {} was asked for; the pattern has {}", what, index, count);
  return names.empty() ? nullptr : names[static_cast<std::size_t>(index)].c_str();
}

/// A copy of the caller's arrays. Throws `usage` if they break a rule of `Pattern`.
Pattern from_c(const tamis_pattern_view* from) {
  const tamis_pattern_view c = tamis::capi::read_struct(from, view_size, "tamis_pattern_view");
  if (c.rows < 1 || c.cols < 1)
    core::fail(Code::usage, "the pattern is {} × {}; it needs a row and a column", c.rows, c.cols);
  tamis::capi::extent({c.rows, sizeof(std::int64_t)}, "row_start");
  const auto starts = tamis::capi::required(c.row_start, c.rows + 1, "row_start");
  if (starts[0] != 0) core::fail(Code::usage, "row_start[0] is {}; it must be 0", starts[0]);
  for (std::size_t i = 1; i < starts.size(); ++i)
    if (starts[i] <= starts[i - 1])
      core::fail(Code::usage, "row_start[{}] is {} after {}; every row needs a nonzero", i,
                 starts[i], starts[i - 1]);
  tamis::capi::extent({starts.back(), sizeof(double)}, "column");
  const auto columns = tamis::capi::required(c.column, starts.back(), "column");
  const auto values = tamis::capi::required(c.value, starts.back(), "value");
  for (std::int64_t row = 0; row < c.rows; ++row) {
    std::int64_t before = -1;
    for (std::int64_t i = starts[static_cast<std::size_t>(row)];
         i < starts[static_cast<std::size_t>(row) + 1]; ++i) {
      const std::int64_t column = columns[static_cast<std::size_t>(i)];
      const double value = values[static_cast<std::size_t>(i)];
      if (column <= before || column >= c.cols)
        core::fail(Code::usage, "column[{}] is {} in row {}; columns must ascend and lie in 0 … {}",
                   i, column, row, c.cols - 1);
      if (!(value > 0) || !std::isfinite(value))
        core::fail(Code::usage, "value[{}] is {}; values must be positive and finite", i, value);
      before = column;
    }
  }
  Pattern pattern;
  pattern.rows = c.rows;
  pattern.cols = c.cols;
  pattern.row_start.assign(starts.begin(), starts.end());
  pattern.column.assign(columns.begin(), columns.end());
  pattern.value.assign(values.begin(), values.end());
  return pattern;
}

}  // namespace
}  // namespace tamis::lab::capi

using namespace tamis::capi;       // NOLINT(google-build-using-namespace): for the functions below
using namespace tamis::lab::capi;  // NOLINT(google-build-using-namespace)

tamis_code tamis_pattern_read(const char* path, tamis_pattern** out) {
  return make(out, [&] {
    return std::make_unique<tamis_pattern>(
        tamis_pattern{tamis::lab::read_pattern(&required(path, "path"))});
  });
}

tamis_code tamis_pattern_create(const tamis_pattern_view* pattern, tamis_pattern** out) {
  return make(out, [&] { return std::make_unique<tamis_pattern>(tamis_pattern{from_c(pattern)}); });
}

void tamis_pattern_free(tamis_pattern* pattern) { delete pattern; }

tamis_code tamis_pattern_get(const tamis_pattern* pattern, tamis_pattern_view* out) {
  return guarded([&] {
    const tamis::lab::Pattern& p = required(pattern, "pattern").pattern;
    write_struct(out,
                 {sizeof *out, p.rows, p.cols, p.row_start.data(), p.column.data(), p.value.data()},
                 view_size, "tamis_pattern_view");
  });
}

tamis_code tamis_pattern_row_name(const tamis_pattern* pattern, int64_t row, const char** name) {
  return guarded([&] {
    const tamis::lab::Pattern& p = required(pattern, "pattern").pattern;
    required(name, "name") = name_at(p.row_names, row, p.rows, "row");
  });
}

tamis_code tamis_pattern_column_name(const tamis_pattern* pattern, int64_t column,
                                     const char** name) {
  return guarded([&] {
    const tamis::lab::Pattern& p = required(pattern, "pattern").pattern;
    required(name, "name") = name_at(p.column_names, column, p.cols, "column");
  });
}

tamis_code tamis_pattern_write(const char* path, const tamis_pattern_view* pattern) {
  return guarded(
      [&] { tamis::lab::write_matrix_market(&required(path, "path"), from_c(pattern)); });
}
