#include "lab/verify/conditions.h"

#include <algorithm>
#include <cmath>
#include <compare>

#include "core/parallel.h"

namespace tamis::lab::verification {
namespace {

constexpr double least = std::numeric_limits<double>::denorm_min();

/// An interval that contains the smallest (or largest) of the numbers in the given intervals.
numbers::Interval least_of(std::span<const numbers::Interval> all) {
  numbers::Interval result = all.front();
  for (const numbers::Interval& x : all)
    result = {std::min(result.lo, x.lo), std::min(result.hi, x.hi)};
  return result;
}
numbers::Interval largest_of(std::span<const numbers::Interval> all) {
  numbers::Interval result = all.front();
  for (const numbers::Interval& x : all)
    result = {std::max(result.lo, x.lo), std::max(result.hi, x.hi)};
  return result;
}

/// Whether the sign of the slack is known, and its size to a billionth.
bool is_settled(const numbers::Interval& slack) {
  const double size = std::max(std::abs(slack.lo), std::abs(slack.hi));
  return (slack.lo > 0 || slack.hi < 0) && std::isfinite(size) &&
         slack.hi - slack.lo <= 0x1p-30 * size;
}

/// The end of an enclosure nearer to zero, so that a margin never claims more than is known.
double inner_end(const numbers::Interval& slack) { return slack.lo > 0 ? slack.lo : slack.hi; }

/// The same where the sign is known even if the enclosure contains zero.
double inner_end(const numbers::Interval& slack, int sign) {
  if (sign > 0) return std::max(slack.lo, least);
  return sign < 0 ? std::min(slack.hi, -least) : 0;
}

int sign_of(std::strong_ordering order) {
  return std::is_lt(order) ? -1 : std::is_gt(order) ? 1 : 0;
}

}  // namespace

Judge::Judge(const Pattern& pattern, const Conditions& conditions, int threads)
    : conditions_(conditions) {
  if (conditions.weak) return;
  log_eps1_ = numbers::enclose_log(numbers::Dyadic(conditions.eps1).rational());
  for (const double value : pattern.value)  // neighbours are often equal
    if (values_.empty() || value != values_.back()) values_.push_back(value);
  std::ranges::sort(values_);
  values_.erase(std::unique(values_.begin(), values_.end()), values_.end());
  logs_.resize(values_.size());
  core::parallel_for(std::ssize(values_), threads, [this](std::int64_t item, int) {
    const auto i = static_cast<std::size_t>(item);
    logs_[i] = numbers::enclose_log(numbers::Dyadic(values_[i]).rational());
  });
}

numbers::Interval Judge::log_of(double value) const {
  return logs_[static_cast<std::size_t>(std::ranges::lower_bound(values_, value) -
                                        values_.begin())];
}

RowVerdict Judge::judge(const RowLogits& row, std::span<const double> values) const {
  RowVerdict verdict;
  if (row.has_zero) verdict.margin = std::min(verdict.margin, zeros_margin(row));
  if (!conditions_.weak && values.size() > 1)
    verdict.margin = std::min(verdict.margin, ratios_margin(row, values));
  return verdict;
}

/// The margin of (23), or of Definition 0.1, which has 0 in place of log ε₁.
double Judge::zeros_margin(const RowLogits& row) const {
  const numbers::Interval bound = conditions_.weak ? numbers::Interval{0, 0} : log_eps1_;
  const numbers::Interval slack = bound - (row.top_zero - least_of(row.nonzeros));
  return is_settled(slack) ? inner_end(slack) : exact_zeros_margin(row);
}

double Judge::exact_zeros_margin(const RowLogits& row) const {
  numbers::Dyadic lowest = row.exact.nonzero(0);
  for (std::size_t s = 1; s < row.nonzeros.size(); ++s) {
    // Skip nonzeros that cannot have the smallest logit.
    if (row.nonzeros[s].lo > lowest.to_double(numbers::Round::up)) continue;
    const numbers::Dyadic other = row.exact.nonzero(s);
    if (other < lowest) lowest = other;
  }
  const numbers::Dyadic gap = row.exact.top_zero() - lowest;
  if (conditions_.weak) return inner_end(outwards(-gap), -gap.sign());
  const numbers::Interval slack = log_eps1_ - outwards(gap);
  return inner_end(slack, -sign_of(numbers::compare_with_log(
                              gap, numbers::Dyadic(conditions_.eps1).rational())));
}

/// The margin of (24): the range of L − log A must be below ε₂.
double Judge::ratios_margin(const RowLogits& row, std::span<const double> values) const {
  std::vector<numbers::Interval> level;
  for (std::size_t s = 0; s < values.size(); ++s)
    level.push_back(row.nonzeros[s] - log_of(values[s]));
  const numbers::Interval eps2{conditions_.eps2, conditions_.eps2};
  const numbers::Interval slack = eps2 - (largest_of(level) - least_of(level));
  return is_settled(slack) ? inner_end(slack) : exact_ratios_margin(row, values);
}

double Judge::exact_ratios_margin(const RowLogits& row, std::span<const double> values) const {
  // Subtract the first logit from all, so that the size of the logits costs no precision.
  std::vector<numbers::Dyadic> logit;
  std::vector<numbers::Interval> level;
  for (std::size_t s = 0; s < values.size(); ++s) {
    logit.push_back(row.exact.nonzero(s) - (s > 0 ? logit.front() : numbers::Dyadic()));
    level.push_back(outwards(s > 0 ? logit.back() : numbers::Dyadic()) - log_of(values[s]));
  }
  logit.front() = numbers::Dyadic();
  const numbers::Interval eps2{conditions_.eps2, conditions_.eps2};
  const numbers::Interval slack = eps2 - (largest_of(level) - least_of(level));
  if (slack.lo > 0 || slack.hi < 0) return inner_end(slack);
  // Some pair is too close to ε₂ for enclosures. Take the worst exact sign among such pairs.
  int sign = 1;
  for (std::size_t a = 0; a < values.size(); ++a)
    for (std::size_t b = 0; b < values.size(); ++b) {
      if (a == b || (eps2 - (level[a] - level[b])).lo > 0) continue;
      const mpq_class ratio =
          numbers::Dyadic(values[a]).rational() / numbers::Dyadic(values[b]).rational();
      const numbers::Dyadic gap = logit[a] - logit[b] - numbers::Dyadic(conditions_.eps2);
      sign = std::min(sign, -sign_of(numbers::compare_with_log(gap, ratio)));
    }
  return inner_end(slack, sign);
}

}  // namespace tamis::lab::verification
