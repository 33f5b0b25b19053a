// The report of the `alpha` sweep: coverage and cost of every rule, where the units are
// replicates or heads.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>

#include "lab/experiments/alpha/alpha.h"
#include "lab/experiments/chart.h"
#include "lab/stats/estimate.h"

namespace tamis::lab::experiments {
namespace {

/// The results for one kind of rows on which the rules are judged.
struct Setting {
  std::string name;
  std::vector<std::string> rules;
  bool longer = false;  ///< held-out rows are longer than calibration rows
  bool trace = false;
  double promised = 0;             ///< 1 − delta
  std::vector<const Json*> units;  ///< results of the points
};

std::vector<Setting> settings_of(const GridRequest& request, const std::vector<DonePoint>& done) {
  std::vector<Setting> settings;
  for (const DonePoint& point : done) {
    const Json& p = point.parameters;
    const bool longer = p.at("test") == "longer";
    const std::string name = setting_of(request, p) +
                             (longer ? ", longer rows than calibrated" : ", rows as calibrated");
    auto place = std::ranges::find(settings, name, &Setting::name);
    if (place == settings.end())
      place = settings.insert(place, Setting{name,
                                             alpha_rule_names(p),
                                             longer,
                                             p.at("part") == "trace",
                                             1 - p.at("delta").get<double>(),
                                             {}});
    place->units.push_back(&point.result);
  }
  return settings;
}

/// The figures of one rule in one setting.
struct Found {
  stats::Estimate coverage;
  stats::Estimate keys;
  /// Keys read divided by the mean of k_eps; a rule that covers all rows cannot be below 1.
  stats::Estimate ratio;
  std::int64_t too_low = 0;  ///< units whose Clopper–Pearson interval is below `promised`
};

Found found(const Setting& setting, std::size_t rule) {
  Found all;
  std::vector<double> rates;
  std::vector<double> keys;
  std::vector<double> ratios;
  for (const Json* unit : setting.units) {
    const Json& entry = unit->at("rules").at(rule);
    rates.push_back(entry.at("covered").get<double>() / entry.at("rows").get<double>());
    keys.push_back(entry.at("keys"));
    ratios.push_back(keys.back() / unit->at("needed").get<double>());
    all.too_low += entry.at("high").get<double>() < setting.promised ? 1 : 0;
  }
  all.coverage = stats::mean_estimate(rates);
  all.coverage.low = std::max(0.0, all.coverage.low);
  all.coverage.high = std::min(1.0, all.coverage.high);
  all.keys = stats::mean_estimate(keys);
  all.ratio = stats::mean_estimate(ratios);
  return all;
}

/// How a rule's coverage compares with what is required, judged for all rules by its interval.
enum class Standing : std::uint8_t { enough, too_low, about, untold };

Standing standing(const Found& rule, double asked) {
  if (!rule.coverage.known) return Standing::untold;
  if (rule.coverage.below(asked)) return Standing::too_low;
  return rule.coverage.low >= asked ? Standing::enough : Standing::about;
}

std::string sentence_on_conformal(const std::vector<Setting>& settings) {
  std::array<std::int64_t, 4> count{};
  const auto counted = [&](Standing which) { return count.at(static_cast<std::size_t>(which)); };
  std::vector<std::string> inside;
  std::vector<std::string> outside;
  for (const Setting& setting : settings) {
    const Found each = found(setting, 0);
    const bool promises = !setting.trace && !setting.longer;
    (promises ? inside : outside)
        .push_back(fmt::format("{} for {}", each.coverage.text(), setting.name));
    if (promises) ++count.at(static_cast<std::size_t>(standing(each, setting.promised)));
  }
  const std::int64_t kept = counted(Standing::enough);
  const std::int64_t broken = counted(Standing::too_low);
  const std::int64_t about = counted(Standing::about);
  const std::string level = stats::short_number(settings.empty() ? 0 : settings.front().promised);
  return fmt::format(
      "That conformal calibration gives an alpha that covers at least {} of new rows {} here where "
      "it promises so, on exchangeable rows: for certain in {} of {} settings, less in {}, not to "
      "be told from {} in {}{} ({}); where it promises nothing, on longer rows or on rows of one "
      "text, coverage is {}.",
      level,
      kept + broken == 0 && about > 0 ? "was not refuted" : stats::verdict(kept, kept + broken),
      kept, kept + broken + about, broken, level, about,
      counted(Standing::untold) == 0
          ? ""
          : fmt::format(", with too few heads to tell in {} more", counted(Standing::untold)),
      inside.empty() ? "none" : fmt::format("{}", fmt::join(inside, "; ")),
      outside.empty() ? "not known" : fmt::format("{}", fmt::join(outside, "; ")));
}

std::string sentence_on_hands(const std::vector<Setting>& settings) {
  std::int64_t misses = 0;
  std::int64_t dearer = 0;
  std::int64_t better = 0;  // rules by hand that do better than conformal calibration
  std::int64_t untold = 0;
  double dearest = 1;
  for (const Setting& setting : settings) {
    if (setting.longer) continue;
    const Found conformal = found(setting, 0);
    const Standing ours = standing(conformal, setting.promised);
    for (std::size_t r = conformal_rules; r < setting.rules.size(); ++r) {
      const Found hand = found(setting, r);
      const Standing theirs = standing(hand, setting.promised);
      const bool misled = theirs == Standing::enough && ours == Standing::too_low;
      if (!misled && (ours == Standing::untold || ours == Standing::too_low ||
                      theirs == Standing::untold || theirs == Standing::about)) {
        ++untold;
      } else if (theirs == Standing::too_low) {
        ++misses;
      } else if (!misled && hand.keys.value > conformal.keys.value) {
        ++dearer;
        dearest = std::max(dearest, hand.keys.value / conformal.keys.value);
      } else {
        ++better;
      }
    }
  }
  const std::int64_t told = misses + dearer + better;
  return fmt::format(
      "That it is better than an alpha chosen by hand {} here: on rows like those calibrated on, "
      "of {} pairs of such a rule and a kind of rows {} cover less than asked, {} cover enough "
      "with more keys{} and {} cover enough with no more keys than conformal, or where it does "
      "not{}.",
      stats::verdict(misses + dearer, told), told, misses, dearer,
      dearer > 0 ? fmt::format(" (up to {:.1f} times as many)", dearest) : "", better,
      untold == 0 ? "" : fmt::format("; {} more pairs cannot be told apart", untold));
}

std::string chart(const std::vector<Setting>& settings) {
  Json values = Json::array();
  for (const Setting& setting : settings)
    for (std::size_t r = 0; r < setting.rules.size(); ++r) {
      const Found each = found(setting, r);
      values.push_back({{"setting", setting.name},
                        {"rule", setting.rules[r]},
                        {"kind", r < conformal_rules ? "conformal" : "by hand"},
                        {"coverage", each.coverage.value},
                        {"low", each.coverage.low},
                        {"high", each.coverage.high},
                        {"ratio", each.ratio.value},
                        {"promised", setting.promised}});
    }
  const Json panel = in_order("setting", "", values);
  Json rule = in_order("rule", "rule", values);
  rule["scale"] = {{"scheme", "category20"}};
  const Json x = channel("coverage", "held-out rows that keep enough mass");
  Json y = channel("ratio", "keys read, relative to keys needed", "log");
  y["scale"]["nice"] = false;
  const Json bars{
      {"mark", "rule"},
      {"encoding",
       {{"x", channel("low", "")}, {"x2", {{"field", "high"}}}, {"y", y}, {"color", rule}}}};
  const Json dots{
      {"mark", {{"type", "point"}, {"filled", true}, {"size", 70}}},
      {"encoding",
       {{"x", x}, {"y", y}, {"color", rule}, {"shape", in_order("kind", "alpha", values)}}}};
  const Json asked{
      {"mark", {{"type", "rule"}, {"strokeDash", {4, 4}}, {"color", "gray"}}},
      {"encoding",
       {{"x", {{"field", "promised"}, {"type", "quantitative"}, {"aggregate", "max"}}}}}};
  return chart_text(
      "Rules for alpha: right of the dashed line enough rows are served; lower is cheaper",
      std::move(values),
      {{"facet", panel},
       {"columns", 2},
       {"spec", {{"width", 320}, {"height", 220}, {"layer", {asked, bars, dots}}}}});
}

}  // namespace

SweepReport alpha_report(const GridRequest& request, const std::vector<DonePoint>& done) {
  const std::vector<Setting> settings = settings_of(request, done);
  SweepReport report;
  report.table.push_back({"setting", "rule", "coverage", "asked", "units surely below", "keys read",
                          "keys read / needed"});
  for (const Setting& setting : settings)
    for (std::size_t r = 0; r < setting.rules.size(); ++r) {
      const Found each = found(setting, r);
      report.table.push_back({setting.name, setting.rules[r], each.coverage.text(),
                              stats::short_number(setting.promised),
                              fmt::format("{} of {}", each.too_low, setting.units.size()),
                              each.keys.text(), each.ratio.text()});
    }
  report.sentences = {sentence_on_conformal(settings), sentence_on_hands(settings)};
  report.vega = chart(settings);
  return report;
}

}  // namespace tamis::lab::experiments
