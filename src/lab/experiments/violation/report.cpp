// The report of the `violation` sweep: the value at which the prediction from R first fails on
// each dial. The prediction is that of row_theory: an exponent C over the lengths measured, and a
// range for each row's k_eps that holds 95 % of rows.
#include <algorithm>
#include <cmath>
#include <map>

#include <fmt/ranges.h>

#include "lab/experiments/panel.h"
#include "lab/experiments/replicates.h"
#include "lab/experiments/synthetic_figures.h"
#include "lab/experiments/violation/violation.h"
#include "lab/stats/quantiles.h"
#include "lab/stats/series.h"
#include "lab/stats/special.h"

namespace tamis::lab::experiments {
namespace {

/// The table behind the Gaussian null is within this of E log k_eps (law.h).
constexpr double null_accuracy = 0.03;

struct Setting {
  std::string dial{};
  double value = 0;
  Growth growth{};
  /// n → replicate → mean of log k over its queries.
  std::map<double, std::map<std::int64_t, double>> log_k{};
  std::map<double, std::vector<double>> rows{};  ///< n → log k of every query
  std::vector<double> spread{};
};

struct Found {
  /// exponent; interval at 95 % for all values of a dial jointly
  std::optional<stats::Estimate> C;
  double C_theory = 0;
  /// Every replicate's k at the largest n divided by its k with the dial at 0.
  std::vector<double> ratio;
  /// Shares of rows at the largest n above and below their predicted range.
  double above = 0;
  double below = 0;
  double spread = 0;
  /// −1 or 1 if the measured C is below or above the prediction, which thus fails; 0 if
  /// it is neither.
  int C_side = 0;
  /// The same for the k of the median row and its predicted range.
  int k_side = 0;
  /// Whether there is an interval over replicates; without it nothing is concluded about C or k.
  [[nodiscard]] bool tested() const { return stats::is_known(C); }
  [[nodiscard]] bool holds() const { return tested() && C_side == 0 && k_side == 0; }
  [[nodiscard]] bool fails() const { return tested() && !holds(); }
};

std::vector<Setting> settings_of(const std::vector<DonePoint>& done) {
  std::vector<Setting> all;
  for (const auto& [p, result] : done) {
    const auto dial = p.at("dial").get<std::string>();
    const double value = p.at("value");
    auto at = std::ranges::find_if(
        all, [&](const Setting& s) { return s.dial == dial && s.value == value; });
    if (at == all.end()) {
      all.push_back({.dial = dial, .value = value});
      at = all.end() - 1;
    }
    const double n = p.at("n");
    const auto k = result.at("k").get<std::vector<double>>();
    double mean = 0;
    for (const double x : k) {
      at->rows[n].push_back(std::log(x));
      mean += std::log(x) / static_cast<double>(k.size());
    }
    at->growth.add(p.at("replicate"), n, mean);
    at->log_k[n][p.at("replicate")] = mean;
    at->spread.push_back(result.at("spread"));
  }
  return all;
}

Found found_of(const Setting& setting, const Setting* base, const GaussianNull& null, double R,
               double d, double confidence) {
  Found found;
  std::vector<double> log_n;
  std::vector<double> log_k;
  for (const auto& [n, rows] : setting.rows) {
    log_n.push_back(std::log(n));
    log_k.push_back(row_theory(null, n, R, d).mean);
  }
  found.C = setting.growth.exponent(confidence);
  found.C_theory = stats::least_squares(log_n, log_k).slope;
  if (stats::is_known(found.C)) {
    // The change of slope if one end of the line is too high and the other too low by
    // the table's accuracy.
    const double slack = 2 * null_accuracy / (log_n.back() - log_n.front());
    if (found.C_theory < found.C->low - slack) found.C_side = 1;
    if (found.C_theory > found.C->high + slack) found.C_side = -1;
  }
  const auto& [n, rows] = *setting.rows.rbegin();
  const RowTheory theory = row_theory(null, n, R, d);
  const double reach = stats::normal_tail_quantile(0.025) * theory.sd + null_accuracy;
  for (const double x : rows) {
    found.above += x > theory.mean + reach ? 1 : 0;
    found.below += x < theory.mean - reach ? 1 : 0;
  }
  found.above /= static_cast<double>(rows.size());
  found.below /= static_cast<double>(rows.size());
  const double miss = stats::median(rows) - theory.mean;
  if (found.tested() && std::abs(miss) > reach) found.k_side = miss > 0 ? 1 : -1;
  found.spread = stats::median(setting.spread);
  if (base != nullptr && base->log_k.contains(n))
    for (const auto& [replicate, log_k_there] : setting.log_k.at(n))
      if (const auto at = base->log_k.at(n).find(replicate); at != base->log_k.at(n).end())
        found.ratio.push_back(std::exp(log_k_there - at->second));
  return found;
}

std::string outcome(const Found& f) {
  if (!f.tested()) return "not tested";
  if (f.holds()) return "holds";
  std::vector<std::string> words;
  if (f.C_side != 0) words.emplace_back(f.C_side > 0 ? "C above" : "C below");
  if (f.k_side != 0) words.emplace_back(f.k_side > 0 ? "k above" : "k below");
  return fmt::format("{}", fmt::join(words, ", "));
}

using Done = std::vector<std::pair<Setting, Found>>;

/// Text such as "tails C below at 0.2 and k below at 0.2" or "copies nowhere".
std::string first_failure(const Done& all, std::string_view dial) {
  std::vector<std::string> where;
  for (const auto& [letter, side] :
       {std::pair("C", &Found::C_side), std::pair("k", &Found::k_side)}) {
    const std::pair<Setting, Found>* first = nullptr;
    for (const auto& each : all)
      if (each.first.dial == dial && each.second.*side != 0 &&
          (first == nullptr || each.first.value < first->first.value))
        first = &each;
    if (first != nullptr)
      where.push_back(fmt::format("{} {} at {}", letter,
                                  first->second.*side > 0 ? "above" : "below",
                                  stats::short_number(first->first.value)));
  }
  return where.empty() ? fmt::format("{} nowhere", dial)
                       : fmt::format("{} {}", dial, fmt::join(where, " and "));
}

std::vector<std::string> sentences_of(const Done& all) {
  const auto base =
      std::ranges::find_if(all, [](const auto& each) { return each.first.dial == no_dial; });
  std::vector<std::string> sentences;
  if (base == all.end() || !base->second.tested()) {
    sentences.emplace_back(
        "Whether the prediction from R holds where its assumptions do cannot be told yet: that "
        "takes two lengths and two replicates with all dials at 0.");
  } else {
    const Found& f = base->second;
    sentences.push_back(fmt::format(
        "With all assumptions met the prediction from R {}: C was {} against {:.2f} predicted, and "
        "{:.1f} % of rows lay beyond the range that should hold 95 % of them.",
        stats::verdict(f.holds() ? 1 : 0, 1), stats::text_of(f.C), f.C_theory,
        100 * (f.above + f.below)));
  }
  std::vector<std::string> failures;
  std::size_t failing = 0;
  std::size_t denser = 0;
  const auto untested = std::ranges::count_if(
      all, [](const auto& each) { return each.first.dial != no_dial && !each.second.tested(); });
  for (const Dial& dial : dials()) {
    const auto of_dial = [&](const auto& each) {
      return each.first.dial == dial.name && each.second.tested();
    };
    if (std::ranges::none_of(all, of_dial)) continue;
    failures.push_back(first_failure(all, dial.name));
    const auto any = [&](auto&& says) {
      return std::ranges::any_of(
          all, [&](const auto& each) { return of_dial(each) && says(each.second); });
    };
    failing += any([](const Found& f) { return f.fails(); }) ? 1U : 0U;
    denser += any([](const Found& f) { return f.k_side > 0; }) ? 1U : 0U;
  }
  if (failures.empty() && untested == 0)
    sentences.emplace_back("No dial has been turned yet.");
  else if (failures.empty())
    sentences.emplace_back(
        "Whether it survives when the assumptions are relaxed was not tested: that takes two "
        "lengths and two replicates for a value of a dial.");
  else
    sentences.push_back(fmt::format(
        "Relaxing the assumptions one at a time broke it on {} of {} dials, by more keys than "
        "predicted on "
        "{} of them; the exponent C or the typical row's k_eps first left its range for {}{}.",
        failing, failures.size(), denser, fmt::join(failures, "; "),
        untested == 0
            ? ""
            : fmt::format(" ({} values of dials have too few replicates or lengths to tell)",
                          untested)));
  return sentences;
}

std::string chart_of(const Done& all) {
  Json values = Json::array();
  for (const auto& [s, f] : all) {
    // A point with all dials at 0 belongs to the line of every dial.
    for (const Dial& dial : dials()) {
      if (s.dial != dial.name && s.dial != no_dial) continue;
      if (f.C)
        values.push_back({{"panel", "C"},
                          {"dial", dial.name},
                          {"value", s.value},
                          {"y", f.C->value},
                          {"low", f.C->low},
                          {"high", f.C->high},
                          {"theory", f.C_theory}});
      if (!f.ratio.empty()) {
        const Quantiles q = stats::quantiles(f.ratio);
        values.push_back({{"panel", "k"},
                          {"dial", dial.name},
                          {"value", s.value},
                          {"y", q.median},
                          {"low", q.p10},
                          {"high", q.p90}});
      }
      values.push_back({{"panel", "beyond"},
                        {"dial", dial.name},
                        {"value", s.value},
                        {"y", 100 * (f.above + f.below)}});
      values.push_back(
          {{"panel", "spread"}, {"dial", dial.name}, {"value", s.value}, {"y", f.spread}});
    }
  }
  const Json x = channel("value", "dial: 0 the assumption holds, 1 it is gone");
  const Json color = names("dial", "Dial");
  const auto line = [&](const Json& y) {
    return layer({{"type", "line"}, {"point", true}}, x, y, color);
  };
  const Json C = channel("y", "exponent C of k_eps over n");
  const Json k = channel("y", "k_eps relative to all dials at 0", "log");
  Json theory = layer({{"type", "line"}, {"strokeDash", {4, 3}}}, x,
                      channel("theory", "exponent C of k_eps over n"), {{"value", "#444"}});
  Json panels{
      panel("C", "Growth: dashed what R predicts",
            {std::move(theory), intervals(x, C, color), line(C)}),
      panel("k", "Keys needed at the largest n", {intervals(x, k, color), line(k)}),
      panel("beyond", "Rows beyond their predicted range", {line(channel("y", "percent of rows"))}),
      panel("spread", "Spread of the logits",
            {line(channel("y", "standard deviation, root mean square"))})};
  return chart_text("What the prediction from R loses when its assumptions go", std::move(values),
                    {{"columns", 2}, {"concat", std::move(panels)}});
}

}  // namespace

SweepReport violation_report(const GridRequest& request, const std::vector<DonePoint>& done) {
  const GaussianNull null(request.value("eps"));
  const std::vector<Setting> settings = settings_of(done);
  const auto base = std::ranges::find(settings, no_dial, &Setting::dial);
  // Intervals hold jointly for all values of a dial (Bonferroni), so that the first failure is not
  // due to chance.
  const double confidence = 1 - 0.05 / static_cast<double>(request.values("value").size());
  SweepReport report;
  report.table.push_back({"dial", "value", "C [95 % together]", "C from R",
                          "k_eps relative to 0 (p10–p90)", "rows above", "rows below", "spread",
                          "prediction"});
  Done all;
  for (const Setting& s : settings) {
    const Found f = found_of(s, base == settings.end() ? nullptr : &*base, null, request.value("R"),
                             request.value("d"), s.dial == no_dial ? 0.95 : confidence);
    report.table.push_back({s.dial, stats::short_number(s.value), stats::text_of(f.C),
                            f.C ? fmt::format("{:.2f}", f.C_theory) : "–",
                            f.ratio.empty() ? "–" : stats::spread_text(f.ratio),
                            fmt::format("{:.1f} %", 100 * f.above),
                            fmt::format("{:.1f} %", 100 * f.below), stats::short_number(f.spread),
                            outcome(f)});
    all.emplace_back(s, f);
  }
  report.sentences = sentences_of(all);
  report.vega = chart_of(all);
  return report;
}

}  // namespace tamis::lab::experiments
