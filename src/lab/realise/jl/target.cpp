#include "lab/realise/jl/target.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "core/fail.h"
#include "kernels/kernels.h"
#include "lab/pattern/checks.h"

namespace tamis::lab::realisation {

JlTarget::Row JlTarget::row(std::int64_t row) const {
  Row result{static_cast<double>(nonzeros(row)), 0, 0,
             static_cast<double>(seen(row) - nonzeros(row))};
  for (std::int64_t e = start[row]; e < start[row + 1]; ++e) {
    result.lowest += b[e] <= eps2 - log_eps1 ? 1 : 0;
    result.square += b[e] * b[e];
  }
  return result;
}

JlTarget jl_target(const Pattern& pattern, const Conditions& conditions) {
  if (conditions.weak)
    core::fail(Code::usage,
               "the jl construction needs eps1 and eps2: leave `weak` out, what satisfies them is "
               "weak too");
  check_conditions(conditions);
  pattern::check_pattern(pattern);
  if (pattern.rows != pattern.cols)
    core::fail(Code::input, "the pattern is {} × {}; the jl construction needs a square one",
               pattern.rows, pattern.cols);
  if (pattern.rows < 1 || pattern.rows > most_jl_rows)
    core::fail(Code::input, "the pattern has {} rows; the jl construction takes 1 to {}",
               pattern.rows, most_jl_rows);

  if (conditions.causal) pattern::check_causal(pattern);

  JlTarget target;
  target.n = pattern.rows;
  target.causal = conditions.causal;
  target.log_eps1 = std::log(conditions.eps1);
  target.eps2 = conditions.eps2;
  target.start = pattern.row_start;
  target.column = pattern.column;
  for (std::int64_t i = 0; i < target.n; ++i) {
    const auto values = pattern.values_of(i);
    const double least = std::log(*std::min_element(values.begin(), values.end()));
    for (const double value : values) {
      const double log_a = std::log(value);
      const double b = log_a - least + (target.eps2 - target.log_eps1);
      target.log_a.push_back(log_a);
      target.b.push_back(b);
      target.b32.push_back(static_cast<float>(b));
    }
  }
  std::vector<JlTarget::Row> rows;
  for (std::int64_t i = 0; i < target.n; ++i) rows.push_back(target.row(i));
  const auto quarter = rows.begin() + (3 * target.n) / 4;
  std::nth_element(rows.begin(), quarter, rows.end(),
                   [](const JlTarget::Row& a, const JlTarget::Row& b) {
                     return a.square * std::log1p(a.others) < b.square * std::log1p(b.others);
                   });
  target.usual = *quarter;
  return target;
}

namespace {

/// The least logit, and the least and largest L − log A, over the nonzeros of a row.
struct Support {
  double least = std::numeric_limits<double>::infinity();
  double low = std::numeric_limits<double>::infinity();
  double high = -std::numeric_limits<double>::infinity();
};

template <class T>
Support support_of(const JlTarget& target, std::int64_t row, const T* logits) {
  Support support;
  for (std::int64_t e = target.start[row]; e < target.start[row + 1]; ++e) {
    const double logit = logits[target.column[e]];
    support.least = std::min(support.least, logit);
    support.low = std::min(support.low, logit - target.log_a[e]);
    support.high = std::max(support.high, logit - target.log_a[e]);
  }
  return support;
}

}  // namespace

float row_slack(const JlTarget& target, std::int64_t row, float* logits) {
  const Support support = support_of(target, row, logits);
  const double together = target.eps2 - (support.high - support.low);
  const std::int64_t seen = target.seen(row);
  if (!(together > 0) || seen == target.nonzeros(row)) return static_cast<float>(together);
  for (std::int64_t e = target.start[row]; e < target.start[row + 1]; ++e)
    logits[target.column[e]] = -std::numeric_limits<float>::infinity();
  const double top = tamis::kernels::kernels().maximum(logits, static_cast<int>(seen));
  return static_cast<float>(std::min(together, support.least + target.log_eps1 - top));
}

double row_margin(const JlTarget& target, std::int64_t row, std::span<const double> logits) {
  const Support support = support_of(target, row, logits.data());
  double margin = target.nonzeros(row) > 1 ? target.eps2 - (support.high - support.low)
                                           : std::numeric_limits<double>::infinity();
  std::int64_t e = target.start[row];
  for (std::int64_t j = 0; j < target.seen(row); ++j) {
    if (e < target.start[row + 1] && target.column[e] == j)
      ++e;
    else
      margin = std::min(margin, support.least + target.log_eps1 - logits[j]);
  }
  return margin;
}

}  // namespace tamis::lab::realisation
