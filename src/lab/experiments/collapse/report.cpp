// The report of the `collapse` sweep: which of the three meanings of collapse is observed as n
// grows. A figure collapses if the 95 % interval for its exponent over n is entirely on the side
// where attention concentrates.
#include <algorithm>
#include <cmath>
#include <map>

#include <fmt/ranges.h>

#include "lab/experiments/collapse/collapse.h"
#include "lab/experiments/panel.h"
#include "lab/experiments/regime.h"
#include "lab/experiments/replicates.h"
#include "lab/experiments/trace_points.h"
#include "lab/stats/quantiles.h"

namespace tamis::lab::experiments {
namespace {

/// One figure of one setting, or of one layer.
struct Curve {
  std::string setting{};
  std::string regime{};  ///< empty for a layer of the trace
  double R = 0;
  Figure figure{};
  /// n → values of the replicates, or p10, median and p90 of a layer.
  std::map<double, std::vector<double>> values{};
  Growth growth{};
  std::optional<stats::Estimate> exponent{};
};

enum class Verdict : std::uint8_t { collapses, spreads, open };

const FigureName& name_of(Figure figure) {
  return *std::ranges::find(figure_names(), figure, &FigureName::figure);
}

Verdict verdict_of(const Curve& s) {
  if (!stats::is_known(s.exponent) || s.exponent->contains(0)) return Verdict::open;
  const bool grows = s.exponent->above(0);
  return grows == (name_of(s.figure).collapsing > 0) ? Verdict::collapses : Verdict::spreads;
}

const char* words_of(Verdict verdict) {
  switch (verdict) {
    case Verdict::collapses:
      return "collapses";
    case Verdict::spreads:
      return "does not";
    case Verdict::open:
      return "undecided";
  }
  return "";
}

void add_layer(std::vector<Curve>& all, const DonePoint& point) {
  for (const FigureName& each : figure_names()) {
    Curve s{.setting = fmt::format("layer {}", point.parameters.at("layer").get<int>())};
    s.figure = each.figure;
    for (const Json& bin : point.result.at("bins"))
      s.values[bin.at("n").get<double>()] = bin.at(each.name).get<std::vector<double>>();
    if (const Json& growth = point.result.at("growth").at(each.name); !growth.is_null())
      s.exponent = stats::Estimate{growth.at(0), growth.at(1), growth.at(2), true};
    if (!s.values.empty()) all.push_back(std::move(s));
  }
}

std::vector<Curve> series_of(const std::vector<DonePoint>& done) {
  std::vector<Curve> all;
  for (const DonePoint& point : done) {
    const Json& p = point.parameters;
    if (p.at("part") == "trace") {
      add_layer(all, point);
      continue;
    }
    const Regime regime = Regime::read(p);
    const std::string setting = regime.name();
    for (const FigureName& each : figure_names()) {
      auto at = std::ranges::find_if(
          all, [&](const Curve& s) { return s.setting == setting && s.figure == each.figure; });
      if (at == all.end()) {
        all.push_back({.setting = setting,
                       .regime = std::string(named(regime.rise).words),
                       .R = regime.R,
                       .figure = each.figure});
        at = all.end() - 1;
      }
      const double value = point.result.at(each.name);
      at->values[p.at("n").get<double>()].push_back(value);
      at->growth.add(p.at("replicate"), p.at("n"), std::log(value));
    }
  }
  for (Curve& s : all)
    if (!s.regime.empty()) s.exponent = s.growth.exponent();
  return all;
}

/// For every figure, text such as "the mass of the heaviest key in 3 of 4 (n^0.02 to n^0.11)".
std::string counts_text(const std::vector<const Curve*>& some) {
  std::vector<std::string> parts;
  for (const FigureName& each : figure_names()) {
    std::size_t of = 0;
    std::size_t collapses = 0;
    std::vector<double> exponents;
    for (const Curve* s : some) {
      if (s->figure != each.figure) continue;
      ++of;
      collapses += verdict_of(*s) == Verdict::collapses ? 1U : 0U;
      if (s->exponent) exponents.push_back(s->exponent->value);
    }
    if (of == 0) continue;
    const std::string grew =
        exponents.empty() ? ""
                          : fmt::format(" (exponents {:.2f} to {:.2f})",
                                        std::ranges::min(exponents), std::ranges::max(exponents));
    parts.push_back(fmt::format("{} in {} of {}{}", each.words, collapses, of, grew));
  }
  return fmt::format("{}", fmt::join(parts, ", "));
}

bool all_open(const std::vector<const Curve*>& some) {
  return std::ranges::all_of(some, [](const Curve* s) { return verdict_of(*s) == Verdict::open; });
}

std::string held_text(const std::vector<const Curve*>& some) {
  const auto count = [&](Verdict verdict) {
    return std::ranges::count_if(some, [&](const Curve* s) { return verdict_of(*s) == verdict; });
  };
  const auto collapsed = count(Verdict::collapses);
  if (collapsed == std::ssize(some)) return "in every sense";
  if (collapsed > 0) return "in part";
  return count(Verdict::open) > 0 ? "in no sense for certain" : "in no sense";
}

std::string regime_text(const std::vector<Curve>& all, const RiseName& regime) {
  std::vector<std::string> parts;
  for (const FigureName& each : figure_names()) {
    std::size_t of = 0;
    std::size_t collapses = 0;
    for (const Curve& s : all) {
      if (s.regime != regime.words || s.figure != each.figure) continue;
      ++of;
      collapses += verdict_of(s) == Verdict::collapses ? 1U : 0U;
    }
    if (of > 0) parts.push_back(fmt::format("{} of {}", collapses, of));
  }
  return fmt::format("{} {}", regime.words, fmt::join(parts, ", "));
}

std::vector<std::string> sentences_of(const std::vector<Curve>& all, const GridRequest& request) {
  std::vector<std::string> regimes_done;
  for (const RiseName& regime : rises())
    if (std::ranges::any_of(all, [&](const Curve& s) { return s.regime == regime.words; }))
      regimes_done.push_back(regime_text(all, regime));
  std::vector<const Curve*> synthetic;
  std::vector<const Curve*> trace;
  for (const Curve& s : all) (s.regime.empty() ? trace : synthetic).push_back(&s);
  std::vector<std::string> sentences;
  sentences.push_back(
      synthetic.empty() || all_open(synthetic)
          ? "Whether attention collapses under the theory's assumptions cannot be told yet: that "
            "takes two "
            "lengths and two replicates whose exponents agree in sign."
          : fmt::format(
                "Under the theory's assumptions attention collapsed {} as n grew; settings in "
                "which the heaviest key gained mass, the effective support shrank and the first "
                "token gained mass: {}.",
                held_text(synthetic), fmt::join(regimes_done, "; ")));
  sentences.push_back(trace.empty() || all_open(trace)
                          ? "Whether it collapses in a model cannot be told: no layer of a trace "
                            "has an exponent that is "
                            "certain in sign."
                          : fmt::format("In {} collapse was seen {}: {} layers.",
                                        trace_name(request), held_text(trace), counts_text(trace)));
  return sentences;
}

std::string chart_of(const std::vector<Curve>& all) {
  Json values = Json::array();
  for (const Curve& s : all)
    for (const auto& [n, replicates] : s.values) {
      const Quantiles q = stats::quantiles(replicates);
      values.push_back({{"panel", fmt::format("{} {}", s.regime.empty() ? "trace" : "synthetic",
                                              name_of(s.figure).name)},
                        {"setting", s.setting},
                        {"regime", s.regime},
                        {"R", s.R},
                        {"n", n},
                        {"y", q.median},
                        {"low", q.p10},
                        {"high", q.p90}});
    }
  Json rows = Json::array();
  const Json x = lengths();
  for (const std::string part : {"synthetic", "trace"}) {
    const bool trace = part == "trace";
    if (std::ranges::none_of(all, [&](const Curve& s) { return s.regime.empty() == trace; }))
      continue;
    Json row = Json::array();
    const Json color = trace ? names("setting", "Layer of the trace") : color_by_R();
    for (const FigureName& each : figure_names()) {
      const Json y = channel("y", each.words, "log");
      Json line = layer("line", x, y, color);
      if (!trace) line["encoding"]["strokeDash"] = names("regime", "As n grows");
      row.push_back(panel(fmt::format("{} {}", part, each.name),
                          fmt::format("{}: {}", part, each.words),
                          {intervals(x, y, color), std::move(line), dots(x, y, color)}));
    }
    rows.push_back({{"hconcat", std::move(row)}});
  }
  return chart_text(
      "What grows and what shrinks with the context", std::move(values),
      {{"vconcat", std::move(rows)}, {"resolve", {{"scale", {{"color", "independent"}}}}}});
}

}  // namespace

SweepReport collapse_report(const GridRequest& request, const std::vector<DonePoint>& done) {
  const std::vector<Curve> all = series_of(done);
  SweepReport report;
  report.table.push_back({"setting", "figure", "at the least n (p10–p90)",
                          "at the largest n (p10–p90)", "exponent over n [95 %]", "verdict"});
  for (const Curve& s : all)
    report.table.push_back({s.setting, name_of(s.figure).words,
                            stats::spread_text(s.values.begin()->second),
                            stats::spread_text(s.values.rbegin()->second),
                            stats::text_of(s.exponent), words_of(verdict_of(s))});
  report.sentences = sentences_of(all, request);
  report.vega = chart_of(all);
  return report;
}

}  // namespace tamis::lab::experiments
