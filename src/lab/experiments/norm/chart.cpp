// The chart of the `norm` sweep: growth of k_eps for both regimes of R, its exponent over R, and
// the heads of the trace.
#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "lab/experiments/norm/norm.h"
#include "lab/experiments/panel.h"
#include "lab/experiments/synthetic_figures.h"
#include "lab/stats/quantiles.h"

namespace tamis::lab::experiments {
namespace {

Json chart_values(const std::vector<NormSetting>& settings, const std::vector<NormFound>& found,
                  const std::vector<NormHead>& heads, bool by_R, const GaussianNull& null,
                  double d) {
  Json values = Json::array();
  for (std::size_t i = 0; i < settings.size(); ++i) {
    const NormSetting& s = settings[i];
    for (const auto& [n, k] : s.k) {
      const Quantiles q = stats::quantiles(k);
      values.push_back({{"panel", named(s.regime.rise).name},
                        {"R", s.regime.R},
                        {"n", n},
                        {"y", q.median},
                        {"low", q.p10},
                        {"high", q.p90},
                        {"gaussian", std::exp(row_theory(null, n, s.regime.at(n), d).mean)}});
    }
    if (found[i].C && found[i].C_null)
      values.push_back({{"panel", "exponent"},
                        {"regime", named(s.regime.rise).words},
                        {"R", s.regime.R},
                        {"y", found[i].C->value},
                        {"low", found[i].C->low},
                        {"high", found[i].C->high},
                        {"gaussian", *found[i].C_null}});
  }
  for (const NormHead& head : heads)
    if (head.R.has_value() || !by_R)
      for (const bool measured : {true, false})
        values.push_back({{"panel", "trace"},
                          {"head", head.name},
                          {"x", by_R ? *head.R : head.spread},
                          {"what", measured ? "measured" : "Gaussian rows of the same spread"},
                          {"y", measured ? head.share : head.null / head.n}});
  return values;
}

Json growth_panel(const RiseName& regime) {
  const Json color = color_by_R();
  const Json n = lengths();
  const Json y = channel("y", "keys needed, k_eps", "log");
  return panel(std::string(regime.name), fmt::format("{} (dashed: Gaussian rows)", regime.words),
               {dashed(n, channel("gaussian", "keys needed, k_eps", "log"), color),
                intervals(n, y, color), dots(n, y, color)});
}

Json exponent_panel() {
  Json R = channel("R", "R at n = 1024", "log");
  R["scale"].update({{"nice", false}, {"padding", 8}});
  const Json color = names("regime", "Growth of R");
  const Json y = channel("y", "exponent C of k_eps over n");
  return panel("exponent", "Exponent with 95 % intervals (dashed: Gaussian rows)",
               {dashed(R, channel("gaussian", "exponent C of k_eps over n"), color),
                intervals(R, y, color), dots(R, y, color)});
}

Json trace_panel(bool by_R) {
  Json x = channel("x", by_R ? "R of the head" : "spread of the head's logits", "log");
  x["scale"].update({{"nice", false}, {"padding", 8}});
  Json made = panel(
      "trace", "Heads of the trace",
      {dots(x, channel("y", "share of keys needed, k_eps/n", "log"), names("what", "k_eps"))});
  made["layer"][0]["encoding"]["tooltip"] = {{"field", "head"}};
  return made;
}

}  // namespace

std::string norm_chart(const std::vector<NormSetting>& settings,
                       const std::vector<NormFound>& found, const std::vector<NormHead>& heads,
                       const GaussianNull& null, double d) {
  const bool by_R =
      std::ranges::any_of(heads, [](const NormHead& head) { return head.R.has_value(); });
  Json panels = Json::array();
  if (!settings.empty()) {
    for (const Rise rise : {Rise::fixed, Rise::root}) panels.push_back(growth_panel(named(rise)));
    panels.push_back(exponent_panel());
  }
  if (!heads.empty()) panels.push_back(trace_panel(by_R));
  return chart_text("Keys needed against the norm of the weights",
                    chart_values(settings, found, heads, by_R, null, d),
                    {{"columns", 2},
                     {"concat", std::move(panels)},
                     {"resolve", {{"scale", {{"color", "independent"}}}}}});
}

}  // namespace tamis::lab::experiments
