// Looks up the signs of a pattern: + where it has a nonzero and in the row of ones, − elsewhere.
// Each lookup is a binary search.
#pragma once

#include <algorithm>

#include <tamis/lab/pattern.h>
#include <tamis/lab/refutation.h>

namespace tamis::lab::verification {

class Signs {
 public:
  explicit Signs(const Pattern& pattern) : pattern_(pattern) {}

  /// True if the sign is +.
  [[nodiscard]] bool operator()(std::int64_t row, std::int64_t column) const {
    return row == ones_row || std::ranges::binary_search(pattern_.columns_of(row), column);
  }
  [[nodiscard]] std::int64_t rows() const { return pattern_.rows; }
  [[nodiscard]] std::int64_t columns() const { return pattern_.cols; }
  [[nodiscard]] bool has_row(std::int64_t row) const { return row >= 0 && row < pattern_.rows; }
  [[nodiscard]] bool has_row_or_ones(std::int64_t row) const {
    return row == ones_row || has_row(row);
  }
  [[nodiscard]] bool has_column(std::int64_t column) const {
    return column >= 0 && column < pattern_.cols;
  }
  [[nodiscard]] const Pattern& pattern() const { return pattern_; }

 private:
  const Pattern& pattern_;
};

}  // namespace tamis::lab::verification
