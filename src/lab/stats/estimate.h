// Numbers with confidence intervals, and the words that reports use for them. Nothing here costs
// more than sorting a few dozen values.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace tamis::lab::stats {

/// A number and a confidence interval for it. `known` is false where there are too few values for
/// an interval; low and high are then the value itself and say nothing about its accuracy.
struct Estimate {
  double value = 0;
  double low = 0;
  double high = 0;
  bool known = false;

  [[nodiscard]] bool contains(double x) const { return low <= x && x <= high; }
  /// the whole interval is below x
  [[nodiscard]] bool below(double x) const { return known && high < x; }
  [[nodiscard]] bool above(double x) const { return known && low > x; }
  /// For example "0.71 [0.65, 0.77]", or "0.71" where the interval is not known.
  [[nodiscard]] std::string text() const;
};
/// The same, or "–" if there is no estimate.
std::string text_of(const std::optional<Estimate>& estimate);
/// Whether there is an estimate with a known interval.
bool is_known(const std::optional<Estimate>& estimate);

/// The mean of the values, at least one.
double mean_of(std::span<const double> values);
/// The mean of the values, at least one, with Student's interval; `known` for two or more values.
/// Throws `internal` if there are no values.
Estimate mean_estimate(std::span<const double> values, double confidence = 0.95);

/// Spearman's rank correlation, where ties get their mean rank, with the interval of Fisher's
/// transform and Bonett and Wright's variance (1 + r²/2)/(count − 3). It is `known` for five or
/// more pairs. The value is 0 if all x or all y are equal.
Estimate rank_correlation(std::span<const double> x, std::span<const double> y);

/// Returns "held", "did not hold" or "held in part" for a claim that `yes` of `all` conclusive
/// cases support, or "was not tested" if there are no such cases.
std::string verdict(std::int64_t yes, std::int64_t all);

/// Three significant digits, or a whole number from 1000 on.
std::string short_number(double x);
/// The median, p10 and p90 as in "120 (87–160)".
std::string spread_text(std::vector<double> values);

}  // namespace tamis::lab::stats
