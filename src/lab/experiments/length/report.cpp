// The report of the `length` sweep: the exponent is chosen on one half of the rows and compared
// with the fixed number of keys on the other; the units are replicates or heads.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "lab/experiments/chart.h"
#include "lab/experiments/length/length.h"
#include "lab/stats/estimate.h"

namespace tamis::lab::experiments {
namespace {

constexpr std::array<const char*, 4> measure_names{"mean dropped mass", "p90 of dropped mass",
                                                   "mean relative output error",
                                                   "p90 of relative output error"};

struct Setting {
  std::string name;
  std::vector<Rule> rules;
  std::vector<const Json*> units;  ///< the lists of rules in the points' results

  [[nodiscard]] std::size_t rules_of_a_kind() const { return rules.size() / 2; }
  [[nodiscard]] std::size_t fixed(Which which) const {
    return which == Which::heaviest ? 0 : rules_of_a_kind();
  }
};

std::vector<Setting> settings_of(const GridRequest& request, const std::vector<DonePoint>& done) {
  std::vector<Setting> settings;
  for (const DonePoint& point : done) {
    const std::string name = setting_of(request, point.parameters);
    auto place = std::ranges::find(settings, name, &Setting::name);
    if (place == settings.end())
      place = settings.insert(place, Setting{name, length_rules(point.parameters), {}});
    place->units.push_back(&point.result.at("rules"));
  }
  return settings;
}

/// The value of a measure. Set 0 is all rows; sets 1 and 2 are the halves.
double value(const Json& unit, std::size_t rule, const char* measure, std::size_t set) {
  return unit.at(rule).at(measure).at(set);
}

stats::Estimate over_units(const Setting& setting, std::size_t rule, const char* member) {
  std::vector<double> values;
  for (const Json* unit : setting.units) {
    const Json& entry = unit->at(rule).at(member);
    values.push_back(entry.is_array() ? entry.at(0) : entry);
  }
  return stats::mean_estimate(values);
}

/// What alpha·n^C gains on one half of the rows with the C that was best on the other half:
/// the difference of the two errors divided by the larger one, negative if the fixed number's
/// error is smaller.
struct Gain {
  stats::Estimate share;
  std::vector<double> exponents;  ///< chosen exponents, two for every unit
};

Gain gain_of(const Setting& setting, Which which, const char* measure) {
  Gain gain;
  std::vector<double> shares;
  const std::size_t fixed = setting.fixed(which);
  for (const Json* unit : setting.units) {
    double sum = 0;
    for (const std::size_t chosen_on : {1U, 2U}) {
      std::size_t best = fixed + 1;
      for (std::size_t r = fixed + 1; r < fixed + setting.rules_of_a_kind(); ++r)
        if (value(*unit, r, measure, chosen_on) < value(*unit, best, measure, chosen_on)) best = r;
      gain.exponents.push_back(setting.rules[best].C);
      const double power = value(*unit, best, measure, 3 - chosen_on);
      const double plain = value(*unit, fixed, measure, 3 - chosen_on);
      const double larger = std::max(power, plain);
      sum += larger > 0 ? (plain - power) / larger : 0;
    }
    shares.push_back(0.5 * sum);
  }
  gain.share = stats::mean_estimate(shares);
  std::ranges::sort(gain.exponents);
  return gain;
}

std::string told(const stats::Estimate& share) {
  const double sign = share.value >= 0 ? 1 : -1;
  std::string amount =
      fmt::format("{:.1f} % {}", 100 * sign * share.value, share.value >= 0 ? "lower" : "higher");
  if (!share.known) return amount;
  const auto [low, high] = std::minmax({sign * share.low, sign * share.high});
  return fmt::format("{} ({:.1f} to {:.1f})", amount, 100 * low, 100 * high);
}

/// The outcomes for one measure over all settings.
struct Judged {
  std::int64_t cases = 0;  ///< settings whose gain has an interval
  std::int64_t untold = 0;
  std::int64_t lower = 0;
  std::int64_t higher = 0;
  std::vector<std::string> details;
};

Judged judge(const std::vector<Setting>& settings, Which which, const char* measure) {
  Judged judged;
  for (const Setting& setting : settings) {
    const Gain gain = gain_of(setting, which, measure);
    (gain.share.known ? judged.cases : judged.untold) += 1;
    judged.lower += gain.share.above(0) ? 1 : 0;
    judged.higher += gain.share.below(0) ? 1 : 0;
    judged.details.push_back(fmt::format("{}: {}, C = {}", setting.name, told(gain.share),
                                         gain.exponents[gain.exponents.size() / 2]));
  }
  return judged;
}

std::string counted(const Judged& judged) {
  return fmt::format(
      "lower in {} of {} settings, higher in {}{}", judged.lower, judged.cases, judged.higher,
      judged.untold == 0 ? ""
                         : fmt::format(", with too few heads to tell in {} more", judged.untold));
}

std::vector<std::string> sentences(const std::vector<Setting>& settings) {
  const Judged mean = judge(settings, Which::heaviest, "tau_mean");
  const Judged worst = judge(settings, Which::heaviest, "tau_p90");
  const Judged output = judge(settings, Which::heaviest, "error_mean");
  const Judged window = judge(settings, Which::latest, "tau_mean");
  return {fmt::format("That alpha·n^C loses less than a fixed number of keys at the same total "
                      "cost {} here by mean dropped mass: with the heaviest keys, and C chosen on "
                      "one half of the rows and judged on the other, it is {} ({}).",
                      stats::verdict(mean.lower, mean.cases), counted(mean),
                      fmt::join(mean.details, "; ")),
          fmt::format("It {} by the 90th percentile of dropped mass, {} ({}); by mean relative "
                      "output error it is "
                      "{}, and with windows in place of the heaviest keys mean dropped mass is {}.",
                      stats::verdict(worst.lower, worst.cases), counted(worst),
                      fmt::join(worst.details, "; "), counted(output), counted(window))};
}

std::string chart(const std::vector<Setting>& settings) {
  Json values = Json::array();
  for (const Setting& setting : settings)
    for (std::size_t r = 0; r < setting.rules.size(); ++r)
      for (std::size_t m = 0; m < length_measures.size(); ++m) {
        const Rule& rule = setting.rules[r];
        std::vector<double> ratios;
        for (const Json* unit : setting.units) {
          const double plain = value(*unit, setting.fixed(rule.which), length_measures[m], 0);
          if (plain > 0) ratios.push_back(value(*unit, r, length_measures[m], 0) / plain);
        }
        if (ratios.empty()) continue;
        values.push_back({{"setting", setting.name},
                          {"measure", measure_names[m]},
                          {"keys", name_of(rule.which)},
                          {"C", rule.C},
                          {"ratio", stats::mean_of(ratios)}});
      }
  const Json which = as_dashes(in_order("keys", "which keys", values));
  const Json measure = in_order("measure", "error", values);
  const Json panel = in_order("setting", "", values);
  const Json line{{"mark", "line"},
                  {"encoding",
                   {{"x", channel("C", "exponent C of alpha·n^C (0: a fixed number of keys)")},
                    {"y", channel("ratio", "error, relative to the fixed number")},
                    {"color", measure},
                    {"strokeDash", which}}}};
  const Json even{{"mark", {{"type", "rule"}, {"color", "gray"}}},
                  {"encoding", {{"y", {{"datum", 1}}}}}};
  return chart_text(
      "Contexts of many lengths at the same total cost: below 1, alpha·n^C beats the fixed number",
      std::move(values),
      {{"facet", {{"column", panel}}},
       {"spec", {{"width", 300}, {"height", 280}, {"layer", {line, even}}}},
       {"resolve", {{"scale", {{"y", "independent"}}}}}});
}

}  // namespace

SweepReport length_report(const GridRequest& request, const std::vector<DonePoint>& done) {
  const std::vector<Setting> settings = settings_of(request, done);
  SweepReport report;
  report.table.push_back({"setting", "rule", "keys per row"});
  for (const char* name : measure_names) report.table[0].emplace_back(name);
  for (const Setting& setting : settings) {
    for (std::size_t r = 0; r < setting.rules.size(); ++r) {
      const Rule& rule = setting.rules[r];
      std::vector<std::string> row{setting.name,
                                   fmt::format("{} {}", name_of(rule.which), rule.growth_name()),
                                   fmt::format("{:.2f}", over_units(setting, r, "keys").value)};
      for (const char* measure : length_measures)
        row.push_back(over_units(setting, r, measure).text());
      report.table.push_back(std::move(row));
    }
    for (const Which which : {Which::heaviest, Which::latest}) {
      std::vector<std::string> row{setting.name,
                                   name_of(which) + " best n^C against fixed, other half", ""};
      for (const char* measure : length_measures)
        row.push_back(told(gain_of(setting, which, measure).share));
      report.table.push_back(std::move(row));
    }
  }
  report.sentences = sentences(settings);
  report.vega = chart(settings);
  return report;
}

}  // namespace tamis::lab::experiments
