#include "lab/stats/estimate.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "core/fail.h"
#include "lab/stats/quantiles.h"
#include "lab/stats/special.h"

namespace tamis::lab::stats {
namespace {

std::vector<double> ranks(std::span<const double> values) {
  std::vector<std::size_t> order(values.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::stable_sort(order, {}, [&](std::size_t i) { return values[i]; });
  std::vector<double> rank(values.size());
  for (std::size_t first = 0; first < order.size();) {
    std::size_t last = first;
    while (last + 1 < order.size() && values[order[last + 1]] == values[order[first]]) ++last;
    for (std::size_t i = first; i <= last; ++i)
      rank[order[i]] = 0.5 * static_cast<double>(first + last);
    first = last + 1;
  }
  return rank;
}

}  // namespace

std::string Estimate::text() const {
  if (!known) return short_number(value);
  return fmt::format("{} [{}, {}]", short_number(value), short_number(low), short_number(high));
}

std::string text_of(const std::optional<Estimate>& estimate) {
  return estimate ? estimate->text() : "–";
}
bool is_known(const std::optional<Estimate>& estimate) { return estimate && estimate->known; }

double mean_of(std::span<const double> values) {
  return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

Estimate mean_estimate(std::span<const double> values, double confidence) {
  if (values.empty()) core::fail(Code::internal, "an estimate from no values");
  const double mean = mean_of(values);
  if (values.size() < 2) return {mean, mean, mean, false};
  double squares = 0;
  for (const double x : values) squares += (x - mean) * (x - mean);
  const auto count = static_cast<double>(values.size());
  const double half =
      student_quantile(count - 1, confidence) * std::sqrt(squares / (count - 1) / count);
  return {mean, mean - half, mean + half, true};
}

Estimate rank_correlation(std::span<const double> x, std::span<const double> y) {
  const std::vector<double> a = ranks(x);
  const std::vector<double> b = ranks(y);
  double aa = 0;
  double bb = 0;
  double ab = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    const double middle = 0.5 * static_cast<double>(a.size() - 1);
    aa += (a[i] - middle) * (a[i] - middle);
    bb += (b[i] - middle) * (b[i] - middle);
    ab += (a[i] - middle) * (b[i] - middle);
  }
  const double r = aa > 0 && bb > 0 ? std::clamp(ab / std::sqrt(aa * bb), -1.0, 1.0) : 0.0;
  if (a.size() < 5) return {r, r, r, false};
  const double half = normal_tail_quantile(0.025) *
                      std::sqrt((1 + r * r / 2) / (static_cast<double>(a.size()) - 3));
  const double z = std::atanh(r);  // infinite at r = ±1, where the interval is that point
  return {r, std::tanh(z - half), std::tanh(z + half), true};
}

std::string verdict(std::int64_t yes, std::int64_t all) {
  if (all == 0) return "was not tested";
  if (yes == all) return "held";
  return yes == 0 ? "did not hold" : "held in part";
}

std::string short_number(double x) {
  return std::abs(x) >= 1000 ? fmt::format("{:.0f}", x) : fmt::format("{:.3g}", x);
}

std::string spread_text(std::vector<double> values) {
  const Quantiles q = quantiles(std::move(values));
  return fmt::format("{} ({}–{})", short_number(q.median), short_number(q.p10),
                     short_number(q.p90));
}

}  // namespace tamis::lab::stats
