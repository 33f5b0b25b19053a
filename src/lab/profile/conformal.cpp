// Split-conformal rules for how many keys to read. A row's score is the least alpha that would
// have sufficed for it. The rank-th smallest score of the calibration rows suffices for a new
// exchangeable row with probability ≥ 1 − delta.
#include <tamis/lab/conformal.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <iterator>
#include <limits>
#include <numeric>

#include "core/fail.h"
#include "lab/numbers/random.h"
#include "lab/stats/quantiles.h"
#include "lab/stats/series.h"
#include "lab/stats/special.h"

namespace tamis::lab {
namespace {

constexpr double nan = std::numeric_limits<double>::quiet_NaN();
constexpr double infinity = std::numeric_limits<double>::infinity();

void check_sizes(std::span<const double> n, std::span<const double> needed,
                 std::span<const Part> parts, const char* what) {
  if (needed.size() != n.size() || parts.size() != n.size())
    core::fail(Code::usage,
               "{} rows have n, {} have {} and {} have a part; every row needs all three", n.size(),
               needed.size(), what, parts.size());
  for (std::size_t i = 0; i < n.size(); ++i) {
    if (!(n[i] >= 1) || !std::isfinite(n[i]))
      core::fail(Code::usage, "row {} sees n = {} keys; it must see at least 1", i, n[i]);
    if (!(needed[i] >= 0 && needed[i] <= n[i]))
      core::fail(Code::usage, "row {} has {} = {}; it must lie in 0 … n = {}", i, what, needed[i],
                 n[i]);
  }
}

void check_delta(double delta) {
  if (!(delta > 0 && delta < 1))
    core::fail(Code::usage, "delta = {}; it must lie between 0 and 1", delta);
}

/// ⌈(1 − delta)(m + 1)⌉, at least 1. The small subtraction corrects a product that rounding puts
/// just above an integer; without the lower limit of 1 it could give rank 0.
std::int64_t rank_of(double delta, std::int64_t m) {
  const double exact = (1 - delta) * static_cast<double>(m + 1);
  return std::max<std::int64_t>(1, static_cast<std::int64_t>(std::ceil(exact - 1e-9)));
}

/// Whether the rule gives a row as much as it needs: k_eps keys, or a window of w_eps keys.
bool serves(const Conformal& rule, double n, double needed) {
  return !rule.finite() || std::min(n, std::ceil(rule.alpha * std::pow(n, rule.C))) >= needed;
}

RuleCost cost_of(const Conformal& rule, std::span<const double> n, std::span<const double> needed,
                 std::span<const std::size_t> rows) {
  RuleCost cost;
  std::int64_t covered = 0;
  double keys = 0;
  for (const std::size_t i : rows) {
    covered += serves(rule, n[i], needed[i]) ? 1 : 0;
    keys += rule.keys(n[i]);
  }
  cost.held_out = coverage(covered, static_cast<std::int64_t>(rows.size()));
  cost.mean_keys = rows.empty() ? nan : keys / static_cast<double>(rows.size());
  return cost;
}

std::vector<std::size_t> rows_of(Part part, std::span<const Part> parts) {
  std::vector<std::size_t> rows;
  for (std::size_t i = 0; i < parts.size(); ++i)
    if (parts[i] == part) rows.push_back(i);
  return rows;
}

Conformal calibrate(std::span<const double> n, std::span<const double> needed,
                    std::span<const Part> parts, double C, std::int64_t sinks, bool window,
                    double delta) {
  check_delta(delta);
  std::vector<double> scores;
  for (const std::size_t i : rows_of(Part::calibration, parts))
    scores.push_back(needed[i] / std::pow(n[i], C));
  Conformal rule;
  rule.window = window;
  rule.C = C;
  rule.sinks = sinks;
  rule.rows = static_cast<std::int64_t>(scores.size());
  rule.rank = rank_of(delta, rule.rows);
  rule.alpha = infinity;
  if (rule.finite()) {
    const auto place = scores.begin() + (rule.rank - 1);
    std::nth_element(scores.begin(), place, scores.end());
    // ⌈alpha·n^C⌉ must be exactly what the row that set alpha needs, however the power is rounded.
    rule.alpha = C == 0 ? *place : *place * (1 - 1e-12);
  }
  const RuleCost cost = cost_of(rule, n, needed, rows_of(Part::held_out, parts));
  rule.mean_keys = cost.mean_keys;
  rule.held_out = cost.held_out;
  return rule;
}

}  // namespace

std::vector<Part> split_rows(std::span<const double> n, std::int64_t block, std::uint64_t seed) {
  const auto rows = static_cast<std::int64_t>(n.size());
  if (block < 0)
    core::fail(Code::usage, "blocks of {} rows; a block must have at least 1, or 0 for the usual",
               block);
  if (block == 0) block = std::clamp<std::int64_t>(rows / 12, 1, 8);
  std::vector<std::size_t> order(n.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return n[a] < n[b]; });
  std::vector<Part> parts(n.size());
  std::array<Part, 3> deal{};
  for (std::int64_t i = 0; i < rows; ++i) {
    const std::int64_t place = i / block;
    if (i % (3 * block) == 0) {
      deal = {Part::fit, Part::calibration, Part::held_out};
      const numbers::Stream stream(seed, numbers::Purpose::split,
                                   static_cast<std::uint64_t>(place / 3));
      std::swap(deal[2], deal[stream.below(3, 0)]);
      std::swap(deal[1], deal[stream.below(2, 1)]);
    }
    parts[order[static_cast<std::size_t>(i)]] = deal[static_cast<std::size_t>(place % 3)];
  }
  return parts;
}

Coverage coverage(std::int64_t covered, std::int64_t rows, double confidence) {
  if (rows < 0 || covered < 0 || covered > rows)
    core::fail(Code::usage, "{} of {} rows covered; it must be a part of them", covered, rows);
  if (!(confidence > 0 && confidence < 1))
    core::fail(Code::usage, "confidence = {} of a coverage; it must lie between 0 and 1",
               confidence);
  Coverage result;
  result.rows = rows;
  result.covered = covered;
  const auto [low, high] = stats::clopper_pearson_bounds(covered, rows, 0.5 * (1 - confidence));
  result.rate = rows > 0 ? static_cast<double>(covered) / static_cast<double>(rows) : nan;
  result.low = low;
  result.high = high;
  return result;
}

double Conformal::keys(double n) const {
  if (!finite()) return n;
  const double fixed = window ? static_cast<double>(sinks) : 0;
  return std::min(n, std::ceil(alpha * std::pow(n, C)) + fixed);
}

double fit_exponent(std::span<const double> n, std::span<const double> k_eps,
                    std::span<const Part> parts) {
  check_sizes(n, k_eps, parts, "k_eps");
  std::vector<double> x;
  std::vector<double> y;
  for (const std::size_t i : rows_of(Part::fit, parts)) {
    if (!(k_eps[i] >= 1))
      core::fail(Code::usage, "row {} has k_eps = {}; it must be at least 1", i, k_eps[i]);
    x.push_back(std::log(n[i]));
    y.push_back(std::log(k_eps[i]));
  }
  if (x.empty()) return 0;
  return std::clamp(stats::least_squares(x, y).slope, 0.0, 1.0);
}

Conformal calibrate_power(std::span<const double> n, std::span<const double> k_eps,
                          std::span<const Part> parts, double C, double delta) {
  check_sizes(n, k_eps, parts, "k_eps");
  if (!(C >= 0 && C <= 1))
    core::fail(Code::usage, "C = {} of the rule alpha·n^C; it must lie in 0 … 1", C);
  return calibrate(n, k_eps, parts, C, 0, false, delta);
}

Conformal calibrate_window(std::span<const double> n, std::span<const double> w_eps,
                           std::span<const Part> parts, std::int64_t sinks, double delta) {
  check_sizes(n, w_eps, parts, "w_eps");
  if (sinks < 0) core::fail(Code::usage, "{} sinks; there must be 0 or more", sinks);
  return calibrate(n, w_eps, parts, 0, sinks, true, delta);
}

RuleTable compare_rules(std::span<const double> n, std::span<const double> k_eps,
                        std::span<const double> w_eps, std::span<const Part> parts,
                        std::int64_t sinks, double delta, std::int64_t bins) {
  if (bins < 1) core::fail(Code::usage, "{} length bins; there must be at least 1", bins);
  RuleTable table;
  table.power = calibrate_power(n, k_eps, parts, fit_exponent(n, k_eps, parts), delta);
  table.topk = calibrate_power(n, k_eps, parts, 0, delta);
  table.window = calibrate_window(n, w_eps, parts, sinks, delta);

  // Bins are made from all rows, not from the held-out ones, so that heads with the same lengths
  // have the same bins.
  for (const stats::BinRows& rows : stats::length_bins(n, bins)) {
    stats::BinRows part;
    std::ranges::copy_if(rows, std::back_inserter(part),
                         [&](std::size_t row) { return parts[row] == Part::held_out; });
    LengthBin entry;
    entry.n_low = n[rows.front()];
    entry.n_high = n[rows.back()];
    entry.rows = static_cast<std::int64_t>(part.size());
    entry.power = cost_of(table.power, n, k_eps, part);
    entry.topk = cost_of(table.topk, n, k_eps, part);
    entry.window = cost_of(table.window, n, w_eps, part);
    table.bins.push_back(entry);
  }
  return table;
}

}  // namespace tamis::lab
