#include "lab/profile/head.h"

#include <algorithm>
#include <cmath>

#include "lab/numbers/random.h"
#include "lab/stats/quantiles.h"

namespace tamis::lab::profiling {
namespace {

/// Columns of the figures, restricted to those rows of one head that see a key.
class Columns {
 public:
  Columns(const RowFigures& figures, std::int64_t first, std::int64_t count) : figures_(figures) {
    for (std::int64_t row = first; row < first + count; ++row)
      if (figures.n[static_cast<std::size_t>(row)] > 0)
        rows_.push_back(static_cast<std::size_t>(row));
  }
  [[nodiscard]] std::int64_t count() const { return static_cast<std::int64_t>(rows_.size()); }
  /// Returns column `c` of a table of `width` columns.
  template <class T>
  [[nodiscard]] std::vector<double> of(const std::vector<T>& table, std::size_t width = 1,
                                       std::size_t c = 0) const {
    std::vector<double> column;
    column.reserve(rows_.size());
    for (const std::size_t row : rows_)
      column.push_back(static_cast<double>(table[row * width + c]));
    return column;
  }
  [[nodiscard]] std::vector<double> effective_support() const {
    std::vector<double> column = of(figures_.entropy);
    for (double& x : column) x = std::exp(x);
    return column;
  }

 private:
  const RowFigures& figures_;
  std::vector<std::size_t> rows_;
};

std::vector<double> picked(std::span<const double> values, const stats::BinRows& rows) {
  std::vector<double> some;
  some.reserve(rows.size());
  for (const std::size_t row : rows) some.push_back(values[row]);
  return some;
}

std::vector<double> ratio(std::span<const double> a, std::span<const double> b) {
  std::vector<double> ratios(a.size());
  std::transform(a.begin(), a.end(), b.begin(), ratios.begin(), std::divides<>());
  return ratios;
}

/// A bin with its range of lengths, row count and median length filled in.
template <class Bin>
Bin bin_of(std::span<const double> n, const stats::BinRows& rows) {
  Bin bin;
  bin.n_low = n[rows.front()];
  bin.n_high = n[rows.back()];
  bin.rows = static_cast<std::int64_t>(rows.size());
  bin.n = stats::median(picked(n, rows));
  return bin;
}

/// The seed of one head's split. If all heads had the same split, one unusual part of the text
/// would affect them all.
std::uint64_t split_seed(std::uint64_t seed, std::int64_t layer, std::int64_t head) {
  const auto place = static_cast<std::uint64_t>(layer) << 32 | static_cast<std::uint64_t>(head);
  return numbers::Stream(seed, numbers::Purpose::split, place)
      .bits(2);  // split_rows uses draws 0 and 1
}

KEpsProfile profile_k_eps(const Columns& columns, const RowFigures& figures, std::size_t e,
                          std::uint64_t seed, const GaussianNull& null,
                          const ProfileOptions& options) {
  const std::vector<double> n = columns.of(figures.n);
  const std::vector<double> sigma = columns.of(figures.sigma);
  const std::vector<double> k_eps = columns.of(figures.k_eps, figures.eps.size(), e);
  const std::vector<double> w_eps = columns.of(figures.w_eps, figures.eps.size(), e);
  const std::vector<double> expected = columns.of(figures.null, figures.eps.size(), e);

  KEpsProfile of_eps;
  of_eps.eps = figures.eps[e];
  of_eps.k_eps = stats::quantiles(k_eps);
  of_eps.share = stats::quantiles(ratio(k_eps, n));
  of_eps.null = stats::quantiles(expected);
  of_eps.law = fit_law({n, k_eps, sigma}, null, options.law);
  of_eps.rules =
      compare_rules(n, k_eps, w_eps, split_rows(n, 0, seed), figures.sinks, options.delta);
  for (const stats::BinRows& rows : stats::length_bins(n, options.bins)) {
    auto bin = bin_of<GrowthBin>(n, rows);
    bin.k_eps = stats::quantiles(picked(k_eps, rows));
    bin.law = predicted_k_eps(of_eps.law, null, bin.n);
    bin.null = stats::median(picked(expected, rows));
    of_eps.growth.push_back(bin);
  }
  return of_eps;
}

/// The calibrated rule of the first eps, or, if there is none, the mass tolerance eps.
Budget budget_of(const KEpsProfile& of_eps) {
  Budget budget;
  if (of_eps.rules.power.finite() && of_eps.rules.power.alpha > 0) {
    budget.kind = Budget::Kind::power;
    budget.alpha = of_eps.rules.power.alpha;
    budget.exponent = of_eps.rules.power.C;
  } else {
    budget.eps = of_eps.eps;
  }
  return budget;
}

}  // namespace

void add_null(RowFigures& figures, std::span<const GaussianNull> nulls) {
  figures.null.assign(figures.k_eps.size(), 0);
  for (std::size_t row = 0; row < figures.n.size(); ++row)
    for (std::size_t e = 0; e < nulls.size() && figures.n[row] > 0; ++e)
      figures.null[row * nulls.size() + e] =
          nulls[e].at(static_cast<double>(figures.n[row]), figures.sigma[row]).median;
}

HeadProfile profile_head(const RowFigures& figures, std::int64_t layer, std::int64_t head,
                         std::int64_t queries, std::span<const GaussianNull> nulls,
                         const ProfileOptions& options) {
  const Columns columns(figures, head * queries, queries);
  HeadProfile result;
  result.layer = layer;
  result.head = head;
  result.rows = columns.count();
  result.n = stats::quantiles(columns.of(figures.n));
  result.top1 = stats::quantiles(columns.of(figures.top1));
  result.entropy = stats::quantiles(columns.of(figures.entropy));
  result.effective_support = stats::quantiles(columns.effective_support());
  result.sink = stats::quantiles(columns.of(figures.sink));
  result.mean = stats::quantiles(columns.of(figures.mean));
  result.sigma = stats::quantiles(columns.of(figures.sigma));
  for (std::size_t w = 0; w < figures.windows.size(); ++w)
    result.window.push_back(
        stats::quantiles(columns.of(figures.window, figures.windows.size(), w)));
  const std::uint64_t seed = split_seed(options.law.seed, layer, head);
  for (std::size_t e = 0; e < figures.eps.size(); ++e)
    result.by_eps.push_back(profile_k_eps(columns, figures, e, seed, nulls[e], options));
  result.budget = budget_of(result.by_eps.front());
  return result;
}

void add_norm(HeadProfile& head, const WeightNorm& norm, std::optional<double> input_bound) {
  head.norm = norm;
  if (!input_bound || head.rows == 0) return;
  for (KEpsProfile& of_eps : head.by_eps)
    of_eps.predicted = predict_from_norm(*input_bound, norm.norm, head.n.median, of_eps.eps);
  head.R = head.by_eps.front().predicted->R;
}

std::vector<CollapseBin> collapse_of(const RowFigures& figures, std::int64_t bins) {
  const Columns columns(figures, 0, figures.rows);
  const std::vector<double> n = columns.of(figures.n);
  const std::vector<double> top1 = columns.of(figures.top1);
  const std::vector<double> effective_support = columns.effective_support();
  const std::vector<double> sink = columns.of(figures.sink);
  std::vector<CollapseBin> collapse;
  for (const stats::BinRows& rows : stats::length_bins(n, bins)) {
    auto bin = bin_of<CollapseBin>(n, rows);
    bin.top1 = stats::quantiles(picked(top1, rows));
    bin.effective_support = stats::quantiles(picked(effective_support, rows));
    bin.sink = stats::quantiles(picked(sink, rows));
    collapse.push_back(bin);
  }
  return collapse;
}

}  // namespace tamis::lab::profiling
