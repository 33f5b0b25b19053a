#include "lab/realise/curve/moment.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "core/fail.h"
#include "core/parallel.h"
#include "lab/pattern/checks.h"
#include "lab/realise/curve/row_trial.h"
#include "lab/realise/curve/spread.h"

namespace tamis::lab::realisation {
namespace {

/// One row of the pattern on the curve; v_s and gap are those of moment.h.
struct RowOnCurve {
  std::vector<std::int64_t> set;  ///< positions of its nonzeros
  std::vector<double> value;      ///< v_s
  std::vector<double> weight;     ///< v_s/∏ gap(s, l)
  double least = 0;               ///< min v_s
};

RowOnCurve row_on_curve(const Pattern& pattern, const Conditions& conditions, const Curve& curve,
                        const std::vector<std::int64_t>& position, std::int64_t row) {
  RowOnCurve result;
  for (const std::int64_t column : pattern.columns_of(row))
    result.set.push_back(position[static_cast<std::size_t>(column)]);
  double largest = 0;
  for (const double a : pattern.values_of(row)) largest = std::max(largest, a);
  for (const double a : pattern.values_of(row))  // a quotient could underflow
    result.value.push_back(conditions.weak ? 0 : std::log(a) - std::log(largest));
  result.least = std::ranges::min(result.value);
  for (std::size_t s = 0; s < result.set.size(); ++s) {
    double product = 1;
    for (std::size_t l = 0; l < result.set.size(); ++l)
      if (l != s) product *= curve.gap(result.set[s], result.set[l]);
    result.weight.push_back(result.value[s] == 0 ? 0 : result.value[s] / product);
  }
  return result;
}

/// The values of P and r at a point outside the set.
struct Values {
  double p = 1;
  double r = 0;
};

Values values_at(const Curve& curve, const RowOnCurve& row, std::int64_t position) {
  Values result;
  for (const std::int64_t s : row.set) result.p *= curve.gap(position, s);
  for (std::size_t s = 0; s < row.set.size(); ++s)
    if (row.weight[s] != 0)
      result.r += row.weight[s] * (result.p / curve.gap(position, row.set[s]));
  return result;
}

/// Multiples of the least β to try where rounding spoils it.
constexpr std::array<double, 10> multiples{1, 1.03, 1.1, 1.25, 1.5, 2, 3, 4, 8, 16};

/// Makes the query of one row.
struct Maker {
  const Pattern& pattern;
  const Conditions& conditions;
  const Curve& curve;
  const std::vector<std::int64_t>& position;
  const RowTrial& trial;
  Arithmetic hold_in;
  double needed;  ///< least difference of logits between nonzeros and zeros

  void make(std::int64_t i, std::span<double> query, RowTrial::Scratch& scratch) const {
    const RowOnCurve row = row_on_curve(pattern, conditions, curve, position, i);
    std::vector<long double> r(query.size());
    std::vector<std::int64_t> others;
    for (std::size_t s = 0; s < row.set.size(); ++s) {
      if (row.weight[s] == 0) continue;
      others = row.set;
      others.erase(others.begin() + static_cast<std::ptrdiff_t>(s));
      curve.add_product(others, row.weight[s], r);
    }
    std::vector<long double> p(query.size());
    curve.add_product(row.set, 1, p);
    const double beta = least_beta(i, row);
    const auto set = [&](double multiple) {
      for (std::size_t c = 0; c < query.size(); ++c)
        query[c] = static_cast<double>(r[c] - static_cast<long double>(multiple * beta) * p[c]);
    };
    set(multiples.back());
    if (!std::ranges::all_of(query, [](double x) { return std::isfinite(x); }))
      core::fail(Code::usage,
                 "row {} of the pattern (from 0) has {} nonzeros among {} columns, for which the "
                 "moment curve needs logits beyond f64; take another method",
                 i, row.set.size(), pattern.cols);
    if (hold_in == Arithmetic::f32)
      for (const double multiple : multiples) {
        set(multiple);
        if (trial.holds_in_f32(i, query, scratch)) return;
      }
    for (const double multiple : multiples) {
      set(multiple);
      if (trial.holds(i, query, scratch)) return;
    }
    set(1);
  }

  [[nodiscard]] double least_beta(std::int64_t i, const RowOnCurve& row) const {
    const auto columns = pattern.columns_of(i);
    const std::int64_t seen = conditions.causal ? i + 1 : pattern.cols;
    double beta = 0;
    auto nonzero = columns.begin();
    for (std::int64_t j = 0; j < seen; ++j) {
      if (nonzero != columns.end() && *nonzero == j) {
        ++nonzero;
        continue;
      }
      const Values at = values_at(curve, row, position[static_cast<std::size_t>(j)]);
      beta = std::fmax(beta, (needed - row.least + at.r) / at.p);
    }
    return beta;
  }
};

/// Work between two progress reports: some tenths of a second.
constexpr std::int64_t products_per_report = std::int64_t{1} << 24;

}  // namespace

Candidate moment(const Pattern& pattern, const Conditions& conditions, Arithmetic hold_in,
                 int threads, const ProgressCallback& progress) {
  check_conditions(conditions);
  const PatternFigures figures = figures_of(pattern);
  if (conditions.causal) pattern::check_causal(pattern);
  const Curve curve(pattern.cols, figures.most_per_row);
  const std::vector<std::int64_t> position = spread_columns(pattern, curve);

  Candidate candidate{pattern.rows, pattern.cols, curve.dim(), {}, {}};
  const auto dim = static_cast<std::size_t>(curve.dim());
  candidate.q.resize(static_cast<std::size_t>(pattern.rows) * dim);
  candidate.k.resize(static_cast<std::size_t>(pattern.cols) * dim);
  for (std::size_t j = 0; j < position.size(); ++j)
    curve.key(position[j], std::span(candidate.k).subspan(j * dim, dim));

  threads = core::thread_count(threads);
  const double needed = conditions.weak ? 1 : -std::log(conditions.eps1) * (1 + 0x1p-10);
  const RowTrial trial(pattern, conditions, candidate.k, curve.dim());
  const Maker maker{pattern, conditions, curve, position, trial, hold_in, needed};
  std::vector<RowTrial::Scratch> scratch(static_cast<std::size_t>(threads));
  const std::int64_t rows_per_report =
      std::max<std::int64_t>(threads, products_per_report / (pattern.cols * curve.dim()));
  for (std::int64_t first = 0; first < pattern.rows; first += rows_per_report) {
    const std::int64_t rows = std::min(rows_per_report, pattern.rows - first);
    core::parallel_for(rows, threads, [&](std::int64_t row, int worker) {
      const std::int64_t i = first + row;
      maker.make(i, std::span(candidate.q).subspan(static_cast<std::size_t>(i) * dim, dim),
                 scratch[static_cast<std::size_t>(worker)]);
    });
    if (progress && !progress(static_cast<double>(first + rows), static_cast<double>(pattern.rows)))
      core::fail(Code::cancelled, "the closed form was stopped after {} of {} rows", first + rows,
                 pattern.rows);
  }
  return candidate;
}

}  // namespace tamis::lab::realisation
