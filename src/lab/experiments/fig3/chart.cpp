// Draws Figure 3: searches, curves with their errors, laws, and the slopes of the bounds.
#include <algorithm>
#include <cmath>
#include <set>

#include "lab/experiments/chart.h"
#include "lab/experiments/fig3/fig3.h"

namespace tamis::lab::experiments {
namespace {

/// Adds one point of a line of the chart.
void add_line(Json& data, const std::string& setup, const char* kind, double n, double d) {
  data.push_back({{"setup", setup}, {"kind", kind}, {"n", n}, {"d", d}});
}

/// Lengths that are far enough apart to be labelled under a panel.
Json ticks(const std::vector<Fig3Setup>& setups) {
  std::set<std::int64_t> lengths;
  for (const Fig3Setup& setup : setups)
    for (const auto& [n, cell] : setup.cells) lengths.insert(n);
  Json shown = Json::array();
  for (const std::int64_t n : lengths)
    if (shown.empty() || 2 * n >= 3 * shown.back().get<std::int64_t>()) shown.push_back(n);
  return shown;
}

}  // namespace

double bound_slope(const PatternSetup& s,
                   DimensionBound (*bound)(std::int64_t, std::int64_t, double, double, double)) {
  const auto at = [&](std::int64_t n) {
    return static_cast<double>(bound(n, s.k, s.gamma, s.eps1, s.eps2).d);
  };
  return (at(2048) - at(1024)) / std::log(2.0);
}

std::string fig3_chart(const std::vector<Fig3Setup>& setups, double step) {
  Json data = Json::array();
  for (const Fig3Setup& setup : setups) {
    const std::string name = name_of(setup.setup);
    double most = 0;
    for (const auto& [n, cell] : setup.cells) {
      for (const double d : cell.searched) {
        data.push_back({{"setup", name}, {"kind", "search"}, {"n", n}, {"d", d}});
        most = std::max(most, d);
      }
      for (const DminMedian& curve : cell.curves) {
        const double d = centre(curve, step);
        data.push_back({{"setup", name},
                        {"kind", "from p(d)"},
                        {"n", n},
                        {"d", d},
                        {"low", d - 1.96 * curve.deviation},
                        {"high", d + 1.96 * curve.deviation}});
        most = std::max(most, d + 1.96 * curve.deviation);
      }
    }
    if (setup.fits.empty()) continue;
    const double first = setup.points.front().n;
    const double last = setup.points.back().n;
    const stats::DimensionFit& log = setup.fit(stats::DimensionLaw::logarithmic);
    const stats::DimensionFit& confined = setup.fit(stats::DimensionLaw::confined);
    for (int i = 0; i <= 40; ++i) {
      const double n = first * std::pow(last / first, i / 40.0);
      add_line(data, name, "a + b log n", n, log.at(n));
      add_line(data, name, "confined log", n, confined.at(n));
      // Only the slope of the bound, as in the paper: a line that starts where the fit starts and
      // ends at the panel's edge.
      for (const auto& [kind, slope] :
           {std::pair("slope of (6)", bound_slope(setup.setup, paper_bound)),
            std::pair("slope of sharper", bound_slope(setup.setup, sharper_bound))}) {
        const double d = log.at(first) + slope * std::log(n / first);
        if (d <= 1.05 * most) add_line(data, name, kind, n, d);
      }
    }
  }
  Json x = channel("n", "rows n", "log");
  x["axis"]["values"] = ticks(setups);
  const Json y = channel("d", "least d = 2m");
  const auto only = [](const char* test) { return Json::array({{{"filter", test}}}); };
  const Json colour{
      {"field", "kind"},
      {"type", "nominal"},
      {"title", nullptr},
      {"scale",
       {{"domain",
         {"search", "from p(d)", "a + b log n", "confined log", "slope of (6)",
          "slope of sharper"}},
        {"range", {"#c8762b", "#3b82b5", "#888888", "#2f8079", "#7a5195", "#bc5090"}}}}};
  const Json points{
      {"transform", only("datum.kind == 'search' || datum.kind == 'from p(d)'")},
      {"mark", {{"type", "point"}, {"filled", true}, {"size", 26}, {"tooltip", true}}},
      {"encoding", {{"x", x}, {"y", y}, {"color", colour}}}};
  const Json errors{{"transform", only("datum.kind == 'from p(d)'")},
                    {"mark", {{"type", "rule"}}},
                    {"encoding",
                     {{"x", x},
                      {"y", channel("low", "least d = 2m")},
                      {"y2", {{"field", "high"}}},
                      {"color", colour}}}};
  const Json lines{
      {"transform", only("datum.kind != 'search' && datum.kind != 'from p(d)'")},
      {"mark", {{"type", "line"}, {"strokeWidth", 1.5}}},
      {"encoding",
       {{"x", x},
        {"y", y},
        {"color", colour},
        {"strokeDash",
         {{"condition", {{"test", "datum.kind == 'confined log'"}, {"value", Json::array({1, 0})}}},
          {"value", Json::array({4, 3})}}}}}};
  const Json facet = panels_in_order("setup", data);
  return chart_text(
      "Figure 3: the least dimension of the random construction, over n", std::move(data),
      {{"columns", 3},
       {"facet", facet},
       {"spec", {{"width", 260}, {"height", 180}, {"layer", {lines, errors, points}}}},
       {"resolve", {{"scale", {{"y", "independent"}}}}}});
}

}  // namespace tamis::lab::experiments
