// The two bounds on the dimension that the jl construction needs, as the paper's d = 2m.
#include <algorithm>
#include <cmath>

#include <tamis/lab/bounds.h>

#include "core/fail.h"

namespace tamis::lab {
namespace {

DimensionBound bound(std::int64_t n, double k, double gamma, double eps1, double eps2,
                     double log_pairs) {
  if (n < 1 || k < 1) core::fail(Code::usage, "n = {} and k = {}: both must be at least 1", n, k);
  if (!(gamma >= 1)) core::fail(Code::usage, "gamma is {}; it must be at least 1", gamma);
  check_conditions({.eps1 = eps1, .eps2 = eps2});
  if (n == 1) return {2, false};  // no pair of logits to separate
  const double ratio = std::log(gamma / eps1) / eps2 + 1;
  const double m = std::ceil(16 * k * ratio * ratio * log_pairs);
  constexpr double most = 0x1p60;
  return {2 * static_cast<std::int64_t>(std::min(m, most)), m > static_cast<double>(n)};
}

bool applies(const Pattern& pattern, const Conditions& conditions) {
  return pattern.rows == pattern.cols && !conditions.weak;
}

}  // namespace

DimensionBound paper_bound(std::int64_t n, std::int64_t k, double gamma, double eps1, double eps2) {
  const auto size = static_cast<double>(n);
  const auto most = static_cast<double>(k);
  return bound(n, most * most, gamma, eps1, eps2,
               2 * std::log(size) + std::log(size - 1) + std::log(2.0));
}

DimensionBound sharper_bound(std::int64_t n, std::int64_t k, double gamma, double eps1,
                             double eps2) {
  const auto size = static_cast<double>(n);
  const auto most = static_cast<double>(k);
  return bound(n, most, gamma, eps1, eps2, std::log(4 * most * size * (size - 1)));
}

std::optional<DimensionBound> paper_bound(const Pattern& pattern, const Conditions& conditions) {
  if (!applies(pattern, conditions)) return std::nullopt;
  const PatternFigures figures = figures_of(pattern);
  return paper_bound(pattern.rows, std::max(figures.most_per_row, figures.most_per_column),
                     figures.gamma, conditions.eps1, conditions.eps2);
}

std::optional<DimensionBound> sharper_bound(const Pattern& pattern, const Conditions& conditions) {
  if (!applies(pattern, conditions)) return std::nullopt;
  const PatternFigures figures = figures_of(pattern);
  return sharper_bound(pattern.rows, figures.most_per_row, figures.gamma, conditions.eps1,
                       conditions.eps2);
}

}  // namespace tamis::lab
