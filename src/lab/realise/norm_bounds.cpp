// Two norm products known before any witness is made: that of the paper's construction, and a lower
// bound for all witnesses. Each takes one pass over the nonzeros.
#include <algorithm>
#include <cmath>

#include <tamis/lab/realise.h>

#include "lab/pattern/checks.h"

namespace tamis::lab {

double paper_norm(const Pattern& pattern, const Conditions& conditions) {
  check_conditions(conditions);
  pattern::check_pattern(pattern);
  if (conditions.weak) return 0;
  double largest = 0;
  for (std::int64_t i = 0; i < pattern.rows; ++i) {
    const std::span<const double> values = pattern.values_of(i);
    const double least = *std::min_element(values.begin(), values.end());
    double square = 0;
    for (const double value : values) {
      const double b =
          std::log(value) - std::log(least) - std::log(conditions.eps1) + conditions.eps2;
      square += b * b;
    }
    largest = std::max(largest, square);
  }
  return std::sqrt(largest);
}

double norm_lower_bound(const Pattern& pattern, const Conditions& conditions) {
  check_conditions(conditions);
  if (conditions.weak || conditions.causal || pattern.rows != pattern.cols) return 0;
  const PatternFigures figures = figures_of(pattern);
  const std::int64_t k = figures.most_per_row;
  // The nonzeros are as many as n rows of k can have and no column has more than k, so every row
  // and column has k.
  if (figures.most_per_column != k || pattern.nonzeros() != k * pattern.rows) return 0;
  const auto n = static_cast<double>(pattern.rows);
  return -std::log(conditions.eps1) * (n - static_cast<double>(k)) / n;
}

}  // namespace tamis::lab
