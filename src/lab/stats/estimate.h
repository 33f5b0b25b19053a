// Numbers with intervals, and the words that reports make of them. Nothing here costs more than
// sorting a few dozen values.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace tamis::lab::stats {

/// A number and an interval for it. `known` is false where there are too few values for an
/// interval; low and high are then the value itself, and nothing is certain of it.
struct Estimate {
  double value = 0;
  double low = 0;
  double high = 0;
  bool known = false;

  [[nodiscard]] bool contains(double x) const { return low <= x && x <= high; }
  [[nodiscard]] bool below(double x) const { return known && high < x; }  ///< for certain
  [[nodiscard]] bool above(double x) const { return known && low > x; }
  /// "0.71 [0.65, 0.77]"; without brackets where the interval is not known.
  [[nodiscard]] std::string text() const;
};
/// The same, and "–" where there is nothing.
std::string text_of(const std::optional<Estimate>& estimate);
/// Whether there is an interval to judge by.
bool is_known(const std::optional<Estimate>& estimate);

/// There must be one value.
double mean_of(std::span<const double> values);
/// The mean of the values with Student's interval; `known` from two values on. There must be one
/// value.
Estimate mean_estimate(std::span<const double> values, double confidence = 0.95);

/// Spearman's correlation of ranks, ties at their mean rank, with the interval of Fisher's
/// transform and Bonett and Wright's variance (1 + r²/2)/(count − 3); `known` from five pairs on,
/// value 0 if all x or all y are equal.
Estimate rank_correlation(std::span<const double> x, std::span<const double> y);

/// "held", "did not hold" or "held in part", for a claim that `yes` of the `all` cases that tell
/// anything bear out, and "was not tested" if there are none.
std::string verdict(std::int64_t yes, std::int64_t all);

/// Three significant digits, whole numbers from 1000 on.
std::string short_number(double x);
/// "120 (87–160)": median, p10 and p90.
std::string spread_text(std::vector<double> values);

}  // namespace tamis::lab::stats
