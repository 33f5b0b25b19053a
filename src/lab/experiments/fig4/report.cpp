// The report of Figure 4: the least d by Q, n and setup, from searches and from the curve p(d).
#include "lab/experiments/fig4/fig4.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>

#include "lab/experiments/chart.h"
#include "lab/experiments/random_pattern.h"
#include "lab/stats/estimate.h"

namespace tamis::lab::experiments {
namespace {

/// The results for one setup, n and Q.
struct Cell {
  std::vector<double> searched;
  std::int64_t beyond =
      0;  // matrices with no accepted d up to 2n; if there are any, there is no mean
  std::optional<DminMedian> curve;

  [[nodiscard]] bool has_mean() const { return !searched.empty() && beyond == 0; }
};
using Cells = std::map<std::int64_t, std::map<double, Cell>>;  // by n and Q

struct Found {
  PatternSetup setup;
  Cells cells;
};
std::vector<Found> cells_of(const GridRequest& request, const std::vector<DonePoint>& done) {
  std::vector<Found> all;
  for (const DonePoint& point : done) {
    std::map<double, Cell>& by_Q =
        of_setup(all, setup_of(point.parameters)).cells[point.parameters.at("n")];
    if (point.parameters.at("method") == "curve") {
      const AcceptanceFit fit = fit_of(point);
      for (const double Q : request.values("Q"))
        by_Q[Q].curve = dmin_median(fit, Q, request.whole("step"));
      continue;
    }
    const std::vector<double> all_Q = point.parameters.at("Q");
    const std::vector<double> least = point.result.at("d");
    for (std::size_t i = 0; i < all_Q.size() && i < least.size(); ++i)
      if (least[i] > 0)
        by_Q[all_Q[i]].searched.push_back(least[i]);
      else
        ++by_Q[all_Q[i]].beyond;
  }
  return all;
}

/// A threshold for the paper's "does not depend a lot", for which it gives no number.
constexpr double little = 0.25;

std::vector<std::string> sentences_of(const std::vector<Found>& found, double step) {
  double least_Q = 0, most_Q = 0;
  double most_fall = 0;  // greatest relative fall of the least d over the whole range of Q
  double most_apart = 0;
  // range over Q of the growth of the least d from the least to the largest n
  double least_growth = 0, most_growth = 0;
  bool any = false, compared = false, grown = false;
  for (const auto& [setup, cells] : found) {
    std::map<double, std::vector<double>>
        growing;  // Q → mean of the least d at every n that has searches
    for (const auto& [n, by_Q] : cells) {
      std::vector<std::pair<double, double>> seen;
      for (const auto& [Q, cell] : by_Q) {
        if (!cell.has_mean()) continue;
        seen.emplace_back(Q, stats::mean_of(cell.searched));
        growing[Q].push_back(seen.back().second);
        if (cell.curve) {
          compared = true;
          most_apart =
              std::max(most_apart, std::abs(seen.back().second - cell.curve->between - 0.5 * step));
        }
      }
      if (seen.size() < 2) continue;
      any = true;
      least_Q = seen.front().first;
      most_Q = seen.back().first;
      most_fall = std::max(most_fall, 1 - seen.back().second / seen.front().second);
    }
    for (const auto& [Q, means] : growing) {
      if (means.size() < 2) continue;
      const double growth = means.back() / means.front();
      least_growth = grown ? std::min(least_growth, growth) : growth;
      most_growth = grown ? std::max(most_growth, growth) : growth;
      grown = true;
    }
  }
  if (!any)
    return {"Too few searches are done to compare two Q.", "Nothing can be said of the claim yet."};
  return {fmt::format(
              "The paper's claim that Q matters little {} (little: by {:g} % at most): from Q = "
              "{:g} to {:g}, {:.0f} times the draws, the least d falls by at most {:.1f} % at one "
              "n{}.",
              most_fall <= little ? "held here" : "did not hold here", 100 * little, least_Q,
              most_Q, most_Q / least_Q, 100 * most_fall,
              grown ? fmt::format(
                          ", where n from the least to the largest raises it by {:.0f} to {:.0f} %",
                          100 * (least_growth - 1), 100 * (most_growth - 1))
                    : ""),
          compared
              ? fmt::format("One curve p(d) per n tells the least d for every Q: its medians are "
                            "within {:.1f} of the means of searches (grid step {:g}).",
                            most_apart, step)
              : std::string("No curve p(d) is done to compare the searches with.")};
}

}  // namespace

SweepReport fig4_report(const GridRequest& request, const std::vector<DonePoint>& done) {
  const std::vector<Found> found = cells_of(request, done);
  SweepReport result;
  result.table.push_back(
      {"setup", "n", "Q", "searches", "mean d", "least", "most", "from p(d)", "+-"});
  Json data = Json::array();
  for (const auto& [setup, cells] : found)
    for (const auto& [n, by_Q] : cells)
      for (const auto& [Q, cell] : by_Q) {
        std::vector<std::string> row{name_of(setup),
                                     fmt::format("{}", n),
                                     fmt::format("{:g}", Q),
                                     fmt::format("{}", cell.searched.size()),
                                     "-",
                                     "-",
                                     "-",
                                     "-",
                                     "-"};
        Json one{{"setup", name_of(setup)}, {"n", n}, {"Q", Q}};
        if (cell.has_mean()) {
          row[4] = fmt::format("{:.1f}", stats::mean_of(cell.searched));
          row[5] = fmt::format("{}", *std::ranges::min_element(cell.searched));
          row[6] = fmt::format("{}", *std::ranges::max_element(cell.searched));
          one["d"] = stats::mean_of(cell.searched);
        }
        if (cell.curve) {
          row[7] = fmt::format("{}", cell.curve->d);
          row[8] = fmt::format("{:.1f}", 1.96 * cell.curve->deviation);
          one["curve"] = cell.curve->between + 0.5 * request.value("step");
        }
        result.table.push_back(row);
        data.push_back(one);
      }
  result.sentences = sentences_of(found, request.value("step"));
  const Json x = channel("n", "rows n", "log");
  const Json colour{
      {"field", "Q"}, {"type", "ordinal"}, {"title", "Q"}, {"scale", {{"scheme", "viridis"}}}};
  const Json lines{
      {"mark", {{"type", "line"}, {"point", true}, {"tooltip", true}}},
      {"encoding",
       {{"x", x}, {"y", channel("d", "least d = 2m, mean of searches")}, {"color", colour}}}};
  const Json curves{
      {"mark", {{"type", "line"}, {"strokeDash", Json::array({3, 3})}}},
      {"encoding",
       {{"x", x}, {"y", channel("curve", "least d = 2m, mean of searches")}, {"color", colour}}}};
  const Json facet = panels_in_order("setup", data);
  result.vega = chart_text(
      "Figure 4: the least dimension for Q n draws at every d (dashed: from p(d))", std::move(data),
      {{"facet", facet},
       {"columns", 2},
       {"spec", {{"width", 300}, {"height", 220}, {"layer", {lines, curves}}}},
       {"resolve", {{"scale", {{"y", "independent"}}}}}});
  return result;
}

}  // namespace tamis::lab::experiments
