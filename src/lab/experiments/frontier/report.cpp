// The report of the `frontier` sweep: dimensions at given norms over n, and the laws fitted to
// them.
#include "lab/experiments/frontier/frontier.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <optional>

#include <tamis/lab/realise.h>

#include "lab/experiments/chart.h"
#include "lab/experiments/random_pattern.h"
#include "lab/stats/dimension_law.h"

namespace tamis::lab::experiments {
namespace {

/// The frontier of one pattern: norm products by dimension.
struct Curve {
  std::map<double, double> norms;
  std::map<double, double> max_logits;
  double paper = 0;
  double lower_bound = 0;

  /// Returns the dimension whose norm product is `level`, by linear interpolation of logarithms
  /// between the dimensions tried. Empty if the level is not crossed.
  [[nodiscard]] std::optional<double> dim_at(double level) const {
    for (auto at = norms.begin(); at != norms.end(); ++at) {
      if (at->second > level) continue;
      if (at == norms.begin()) return std::nullopt;
      const auto before = std::prev(at);
      const double share = std::log(before->second / level) / std::log(before->second / at->second);
      return std::exp(std::log(before->first) + share * std::log(at->first / before->first));
    }
    return std::nullopt;
  }

  /// Adds the squared relative errors of interpolation to `squares` and their number to `count`.
  /// Each dimension in turn is left out and interpolated from its neighbours at its own norm. The
  /// gap is then twice as wide as in use, and the error for a smooth curve four times as large.
  void add_misses(double& squares, double& count) const {
    for (auto at = norms.begin(); at != norms.end(); ++at) {
      Curve without = *this;
      without.norms.erase(at->first);
      const auto read = without.dim_at(at->second);
      if (!read || at == norms.begin()) continue;
      squares += std::pow((*read / at->first - 1) / 4, 2);
      ++count;
    }
  }
};
struct Family {
  PatternSetup setup;
  std::map<std::int64_t, std::map<std::int64_t, Curve>> by_n;  // n → matrix → curve
};

std::vector<Family> families_of(const std::vector<DonePoint>& done) {
  std::vector<Family> all;
  for (const DonePoint& point : done) {
    if (!point.result.at("verified").get<bool>()) continue;
    Family& family = of_setup(all, setup_of(point.parameters));
    Curve& curve = family.by_n[point.parameters.at("n")][point.parameters.at("matrix")];
    curve.norms[point.parameters.at("dim")] = point.result.at("norm_product");
    curve.paper = point.result.at("paper");
    curve.lower_bound = point.result.at("lower_bound");
    curve.max_logits[point.parameters.at("dim")] = point.result.at("max_logit");
  }
  return all;
}

/// Returns the dimensions at one norm over n, with standard errors from the
/// differences between patterns.
std::vector<stats::DimensionPoint> growth_at(const Family& family, double times) {
  std::vector<stats::DimensionPoint> points;
  double squares = 0;
  double freedom = 0;
  double misses = 0;
  double missed = 0;
  for (const auto& [n, curves] : family.by_n) {
    std::vector<double> dims;
    for (const auto& [matrix, curve] : curves) curve.add_misses(misses, missed);
    for (const auto& [matrix, curve] : curves)
      if (const auto dim = curve.dim_at(times * curve.paper)) dims.push_back(*dim);
    if (dims.size() < curves.size() || dims.empty()) continue;
    double mean = 0;
    for (const double dim : dims) mean += dim / static_cast<double>(dims.size());
    for (const double dim : dims) squares += std::pow(dim / mean - 1, 2);
    freedom += static_cast<double>(dims.size()) - 1;
    points.push_back(
        {static_cast<double>(n), mean, 1 / std::sqrt(static_cast<double>(dims.size()))});
  }
  // The relative standard deviation of patterns is taken as common to a family; it cannot be
  // estimated if no n has two patterns.
  if (freedom == 0) return {};
  const double share = std::sqrt(squares / freedom + (missed > 0 ? misses / missed : 0));
  for (stats::DimensionPoint& point : points) point.sd *= share * point.d;
  return points;
}

struct Level {
  const Family* family = nullptr;
  double times = 1;
  std::vector<stats::DimensionPoint> points;
  std::optional<stats::DimensionFit> log, power;
};
std::vector<Level> levels_of(const std::vector<Family>& families, const GridRequest& request) {
  std::vector<Level> all;
  for (const Family& family : families)
    for (const double times : request.values("norm")) {
      Level level{&family, times, growth_at(family, times), {}, {}};
      if (level.points.size() >= 3) {
        level.log = stats::fit_dimension(stats::DimensionLaw::logarithmic, level.points);
        level.power = stats::fit_dimension(stats::DimensionLaw::power, level.points);
      }
      all.push_back(std::move(level));
    }
  return all;
}

std::vector<std::string> sentences_of(const std::vector<Level>& levels) {
  std::int64_t fitted = 0;
  std::int64_t holds = 0;
  std::int64_t better = 0;
  std::int64_t worse = 0;
  double least = std::numeric_limits<double>::infinity();
  double most = -least;
  for (const Level& level : levels) {
    if (!level.log) continue;
    ++fitted;
    holds += level.log->p_value >= 0.01 ? 1 : 0;
    better += stats::much_likelier(*level.log, *level.power) ? 1 : 0;
    worse += stats::much_likelier(*level.power, *level.log) ? 1 : 0;
    least = std::min(least, level.power->v);
    most = std::max(most, level.power->v);
  }
  if (fitted == 0)
    return {
        "Too few patterns or lengths are done for a law: two patterns and three lengths are needed "
        "at one norm.",
        "Nothing can be said yet of log n for optimised witnesses."};
  std::string at_paper;
  for (const Level& level : levels)
    if (level.times == 1 && !level.points.empty()) {
      const stats::DimensionPoint& last = level.points.back();
      at_paper += fmt::format("{}m = {:.1f} at n = {:.0f} ({})", at_paper.empty() ? "" : ", ",
                              last.d, last.n, name_of(level.family->setup));
    }
  return {
      fmt::format(
          "log n {} when witnesses are optimised: m = a + b log n fits {} of {} families of "
          "patterns and norms within their errors (level 0.01), is 20 times as likely as a power "
          "law or more in {} and as much less in {}; the powers are {:.2f} to {:.2f}.",
          holds == fitted ? "survives"
          : holds == 0    ? "does not survive"
                          : "survives in part",
          holds, fitted, better, worse, least, most),
      at_paper.empty()
          ? std::string("No dimension tried reaches the norm of the paper's construction.")
          : fmt::format("At the norm of the paper's construction the fewest columns found are {}.",
                        at_paper)};
}

std::string chart_of(const std::vector<Family>& families) {
  Json data = Json::array();
  for (const Family& family : families)
    for (const auto& [n, curves] : family.by_n)
      for (const auto& [matrix, curve] : curves)
        for (const auto& [dim, norm] : curve.norms)
          data.push_back({{"setup", name_of(family.setup)},
                          {"n", n},
                          {"matrix", matrix},
                          {"dim", dim},
                          {"norm", norm},
                          {"paper", curve.paper},
                          {"lower", curve.lower_bound > 0 ? Json(curve.lower_bound) : Json()}});
  const Json x = channel("dim", "columns of queries and keys, m", "log");
  const Json lines{{"mark", {{"type", "line"}, {"point", {{"size", 14}}}, {"tooltip", true}}},
                   {"encoding",
                    {{"x", x},
                     {"y", channel("norm", "norm product", "log")},
                     {"detail", {{"field", "matrix"}}},
                     {"color",
                      {{"field", "n"},
                       {"type", "ordinal"},
                       {"title", "rows n"},
                       {"scale", {{"scheme", "viridis"}}}}}}}};
  const Json paper{
      {"mark", {{"type", "line"}, {"color", "#888888"}, {"strokeDash", Json::array({4, 3})}}},
      {"encoding", {{"x", x}, {"y", channel("paper", "norm product", "log")}}}};
  const Json lower{
      {"mark", {{"type", "line"}, {"color", "#c0392b"}, {"strokeDash", Json::array({1, 3})}}},
      {"encoding",
       {{"x", x}, {"y", channel("lower", "norm product", "log")}, {"detail", {{"field", "n"}}}}}};
  const Json facet = panels_in_order("setup", data);
  return chart_text(
      "The frontier: norm against dimension, by n (dashed: the norm that the paper projects; "
      "dotted: no witness below)",
      std::move(data),
      {{"facet", facet},
       {"columns", 2},
       {"spec", {{"width", 300}, {"height", 240}, {"layer", {lines, paper, lower}}}}});
}

}  // namespace

SweepReport frontier_report(const GridRequest& request, const std::vector<DonePoint>& done) {
  const std::vector<Family> families = families_of(done);
  SweepReport result;
  result.table.push_back({"setup", "n", "m", "patterns", "norm product", "least", "most", "max |L|",
                          "no witness below"});
  for (const Family& family : families)
    for (const auto& [n, curves] : family.by_n) {
      std::map<double, std::vector<double>> by_dim;
      for (const auto& [matrix, curve] : curves)
        for (const auto& [dim, norm] : curve.norms) by_dim[dim].push_back(norm);
      const Curve& first = curves.begin()->second;
      for (auto& [dim, norms] : by_dim) {
        std::ranges::sort(norms);
        result.table.push_back(
            {name_of(family.setup), fmt::format("{}", n), fmt::format("{}", dim),
             fmt::format("{}", norms.size()), fmt::format("{:.3f}", norms[(norms.size() - 1) / 2]),
             fmt::format("{:.3f}", norms.front()), fmt::format("{:.3f}", norms.back()),
             first.max_logits.contains(dim) ? fmt::format("{:.3f}", first.max_logits.at(dim)) : "-",
             fmt::format("{:.3f}", first.lower_bound)});
      }
    }
  const std::vector<Level> levels = levels_of(families, request);
  for (const Level& level : levels) {
    if (result.fits.empty())
      result.fits.push_back({"setup", "norm / paper's", "m by n", "slope b", "+-", "power", "+-",
                             "chi2/df log", "power"});
    std::vector<std::string> dims;
    for (const stats::DimensionPoint& point : level.points)
      dims.push_back(fmt::format("{:.1f}", point.d));
    std::vector<std::string> row{name_of(level.family->setup), fmt::format("{:g}", level.times),
                                 dims.empty() ? "-" : fmt::format("{}", fmt::join(dims, " "))};
    if (level.log)
      for (const auto& [value, digits] :
           {std::pair(level.log->v, 2), std::pair(level.log->half_width(), 2),
            std::pair(level.power->v, 3), std::pair(level.power->half_width(), 3),
            std::pair(level.log->chi2 / static_cast<double>(level.log->degrees), 2),
            std::pair(level.power->chi2 / static_cast<double>(level.power->degrees), 2)})
        row.push_back(fmt::format("{:.{}f}", value, digits));
    else
      row.insert(row.end(), 6, "-");
    result.fits.push_back(row);
  }
  result.sentences = sentences_of(levels);
  result.vega = chart_of(families);
  return result;
}

}  // namespace tamis::lab::experiments
