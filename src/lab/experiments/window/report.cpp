// The report of the `window` sweep: errors over n with their trends; the units are
// replicates or heads.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <array>
#include <cmath>
#include <map>

#include "core/fail.h"
#include "lab/experiments/chart.h"
#include "lab/experiments/window/window.h"
#include "lab/stats/estimate.h"
#include "lab/stats/quantiles.h"
#include "lab/stats/series.h"

namespace tamis::lab::experiments {
namespace {

constexpr std::array<const char*, 3> measures{"tau", "error", "largest"};
constexpr std::array<const char*, 3> measure_names{"dropped mass", "relative output error",
                                                   "largest weight dropped"};

/// The units' results at one n.
struct AtLength {
  std::int64_t keys = 0;
  std::vector<double> p10, median, p90;
};
/// One rule in one setting, judged by one measure.
struct Curve {
  std::string setting;
  Rule rule;
  std::size_t measure = 0;
  std::map<double, AtLength> lengths;
  std::map<std::string, std::map<double, double>> units;  ///< unit → n → median

  /// The change of the median per doubling of n, averaged over units. Empty if no unit
  /// has two lengths.
  [[nodiscard]] std::optional<stats::Estimate> trend(double confidence = 0.95) const {
    std::vector<double> slopes;
    for (const auto& [unit, medians] : units) {
      std::vector<double> x;
      std::vector<double> y;
      for (const auto& [n, value] : medians) {
        x.push_back(std::log2(n));
        y.push_back(value);
      }
      if (x.size() > 1) slopes.push_back(stats::least_squares(x, y).slope);
    }
    if (slopes.empty()) return std::nullopt;
    return stats::mean_estimate(slopes, confidence);
  }
};

std::string unit_of(const Json& p) {
  if (p.at("part") == "trace")
    return fmt::format("{}.{}", p.at("layer").dump(), p.at("head").dump());
  return p.at("replicate").dump();
}

std::vector<Curve> curves_of(const GridRequest& request, const std::vector<DonePoint>& done) {
  std::vector<Curve> curves;
  std::map<std::string, std::size_t> first;
  for (const DonePoint& point : done) {
    const std::vector<Rule> rules = window_rules(point.parameters);
    const std::string setting = setting_of(request, point.parameters);
    const auto [place, fresh] = first.try_emplace(setting, curves.size());
    if (fresh)
      for (const Rule& rule : rules)
        for (std::size_t m = 0; m < measures.size(); ++m)
          curves.push_back({setting, rule, m, {}, {}});
    if (point.result.at("bins").empty())
      core::fail(Code::input,
                 "the result of window {} has no bins; it must have one for every length",
                 point.parameters.dump());
    for (const Json& bin : point.result.at("bins")) {
      const double n = bin.at("n");
      for (std::size_t r = 0; r < rules.size(); ++r) {
        const Json& found = bin.at("rules").at(r);
        for (std::size_t m = 0; m < measures.size(); ++m) {
          const Json& values = found.at(measures[m]);
          Curve& curve = curves[place->second + r * measures.size() + m];
          AtLength& at = curve.lengths[n];
          at.keys = found.at("keys");
          at.p10.push_back(values.at(0));
          at.median.push_back(values.at(1));
          at.p90.push_back(values.at(2));
          curve.units[unit_of(point.parameters)][n] = values.at(1);
        }
      }
    }
  }
  return curves;
}

std::string spread(const AtLength& at) {
  return fmt::format("{:.3g} ({:.3g}–{:.3g})", stats::median(at.median), stats::median(at.p10),
                     stats::median(at.p90));
}

/// Counts of the trends of curves.
struct Tally {
  std::int64_t cases = 0;  ///< curves whose trend has an interval
  std::int64_t falls = 0;
  std::int64_t grows = 0;
  std::int64_t untold = 0;
  void add(const std::optional<stats::Estimate>& trend) {
    if (!stats::is_known(trend)) {
      ++untold;
      return;
    }
    ++cases;
    falls += trend->below(0) ? 1 : 0;
    grows += trend->above(0) ? 1 : 0;
  }
  [[nodiscard]] std::string text() const {
    std::string all =
        fmt::format("it fell with n in {} of {} cases, grew in {} and did neither in {}", falls,
                    cases, grows, cases - falls - grows);
    if (untold > 0)
      all += fmt::format(" ({} more have too few replicates or lengths to tell)", untold);
    return all;
  }
};

std::string example(const Curve& curve) {
  const auto& [short_n, from] = *curve.lengths.begin();
  const auto& [long_n, to] = *curve.lengths.rbegin();
  return fmt::format("{:.2g} at n = {:.0f} and {:.2g} at {:.0f} for {}", stats::median(from.median),
                     short_n, stats::median(to.median), long_n, curve.setting);
}

/// The curve, over a setting's exponents, whose dropped mass falls most. It is chosen among
/// several, so it is judged by an interval that holds for all of them jointly (Bonferroni).
struct Best {
  const Curve* curve = nullptr;
  stats::Estimate trend;
};

std::vector<Best> best_of(const std::vector<const Curve*>& powers) {
  std::map<std::string_view, double> exponents;
  for (const Curve* curve : powers) exponents[curve->setting] += 1;
  std::vector<Best> best;
  for (const Curve* curve : powers) {
    const std::optional<stats::Estimate> trend =
        curve->trend(1 - 0.05 / exponents.at(curve->setting));
    if (!stats::is_known(trend)) continue;
    if (best.empty() || best.back().curve->setting != curve->setting)
      best.push_back({curve, *trend});
    else if (trend->value < best.back().trend.value)
      best.back() = {curve, *trend};
  }
  return best;
}

std::string word(const stats::Estimate& trend) {
  if (trend.below(0)) return fmt::format("falling by {:.2g} per doubling of n", -trend.value);
  return trend.above(0) ? fmt::format("growing by {:.2g} per doubling of n", trend.value)
                        : "neither falling nor growing for certain";
}

std::vector<std::string> sentences(const std::vector<Curve>& curves) {
  Tally fixed;
  Tally fixed_entry;
  Tally power;
  Tally power_entry;
  std::vector<std::string> fixed_examples;
  std::vector<const Curve*> powers;
  for (const Curve& curve : curves) {
    const std::string_view measure = measures[curve.measure];
    const bool is_fixed = curve.rule.C == 0;
    const bool heaviest = curve.rule.which == Which::heaviest;
    if (curve.rule.log || measure == "error") continue;
    const std::optional<stats::Estimate> trend = curve.trend();
    if (measure == "largest") {
      if (heaviest) (is_fixed ? fixed_entry : power_entry).add(trend);
    } else if (is_fixed) {
      fixed.add(trend);
      if (heaviest) fixed_examples.push_back(example(curve));
    } else if (heaviest) {
      power.add(trend);
      powers.push_back(&curve);
    }
  }
  const std::vector<Best> best = best_of(powers);
  std::int64_t falling = 0;
  std::vector<std::string> examples;
  for (const Best& each : best) {
    falling += each.trend.below(0) ? 1 : 0;
    examples.push_back(fmt::format("{}, with {}: {}", word(each.trend),
                                   each.curve->rule.growth_name(), example(*each.curve)));
  }
  return {
      fmt::format("That a fixed number of keys, heaviest or windowed, leaves an error that "
                  "persists {} here, in dropped mass: {} (the heaviest lose in the median {}).",
                  stats::verdict(fixed.cases - fixed.falls, fixed.cases), fixed.text(),
                  fmt::join(fixed_examples, "; ")),
      fmt::format(
          "That for some C the heaviest alpha·n^C keys leave a falling error {} here, in dropped "
          "mass: in {} of {} settings ({}), and over all exponents {}; the largest single weight "
          "dropped, a norm in which every row is sparse, fell in {} of {} cases, and in {} of {} "
          "with a fixed number of keys.",
          stats::verdict(falling, std::ssize(best)), falling, best.size(),
          examples.empty() ? "none" : fmt::format("{}", fmt::join(examples, "; ")), power.text(),
          power_entry.falls, power_entry.cases, fixed_entry.falls, fixed_entry.cases)};
}

std::string chart(const std::vector<Curve>& curves) {
  Json values = Json::array();
  for (const Curve& curve : curves) {
    if (measures[curve.measure] == std::string_view("largest")) continue;
    for (const auto& [n, at] : curve.lengths)
      values.push_back({{"setting", curve.setting},
                        {"measure", measure_names[curve.measure]},
                        {"keys", name_of(curve.rule.which)},
                        {"rule", curve.rule.growth_name()},
                        {"n", n},
                        {"low", stats::median(at.p10)},
                        {"median", stats::median(at.median)},
                        {"high", stats::median(at.p90)}});
  }
  Json x = channel("n", "keys in the context, n", "log");
  x["scale"]["nice"] = false;
  Json rule = in_order("rule", "number of keys", values);
  rule["legend"] = {{"symbolOpacity", 1}, {"symbolType", "circle"}};
  const Json which = as_dashes(in_order("keys", "which keys", values));
  const Json row = in_order("measure", "", values);
  const Json column = in_order("setting", "", values);
  const Json line{{"mark", "line"},
                  {"encoding",
                   {{"x", x},
                    {"y", channel("median", "median (band: p10 to p90 of rows)")},
                    {"color", rule},
                    {"strokeDash", which}}}};
  const Json band{{"mark", {{"type", "area"}, {"opacity", 0.09}}},
                  {"transform", {{{"filter", "datum.keys == 'heaviest'"}}}},
                  {"encoding",
                   {{"x", x},
                    {"y", channel("low", "median (band: p10 to p90 of rows)")},
                    {"y2", {{"field", "high"}}},
                    {"color", rule}}}};
  return chart_text(
      "What is lost as the context grows; all rules read equally many keys at one length",
      std::move(values),
      {{"facet", {{"row", row}, {"column", column}}},
       {"spec", {{"width", 280}, {"height", 220}, {"layer", {line, band}}}},
       {"resolve", {{"scale", {{"y", "independent"}, {"x", "independent"}}}}}});
}

}  // namespace

SweepReport window_report(const GridRequest& request, const std::vector<DonePoint>& done) {
  const std::vector<Curve> curves = curves_of(request, done);
  SweepReport report;
  report.table.push_back({"setting", "rule", "n", "keys"});
  for (const char* name : measure_names) {
    report.table[0].emplace_back(name);
    report.table[0].emplace_back("change per doubling of n");
  }
  for (std::size_t i = 0; i < curves.size(); i += measures.size()) {
    const Curve& one = curves[i];
    const auto& [short_n, from] = *one.lengths.begin();
    const auto& [long_n, to] = *one.lengths.rbegin();
    std::vector<std::string> row{one.setting, one.rule.name(),
                                 fmt::format("{:.0f} → {:.0f}", short_n, long_n),
                                 fmt::format("{} → {}", from.keys, to.keys)};
    for (std::size_t m = 0; m < measures.size(); ++m) {
      const Curve& curve = curves[i + m];
      row.push_back(fmt::format("{} → {}", spread(curve.lengths.begin()->second),
                                spread(curve.lengths.rbegin()->second)));
      row.push_back(stats::text_of(curve.trend()));
    }
    report.table.push_back(std::move(row));
  }
  report.sentences = sentences(curves);
  report.vega = chart(curves);
  return report;
}

}  // namespace tamis::lab::experiments
