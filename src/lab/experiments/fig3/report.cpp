// The report of Figure 3: the least d by n and setup, the laws fitted to it, and the paper's claim.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>

#include "lab/experiments/fig3/fig3.h"
#include "lab/stats/estimate.h"

namespace tamis::lab::experiments {
namespace {

constexpr double significance = 0.01;

/// Returns d by n with its standard error, from searches if there are any, otherwise from curves.
std::vector<stats::DimensionPoint> growth_points(const Fig3Setup& setup, double step) {
  // Searches of one setup are taken to have the same variance at every n. Their mean is known no
  // better than the grid allows: if they differ by less than a step, all are rounded the same way.
  double squares = 0;
  double freedom = 0;
  for (const auto& [n, cell] : setup.cells) {
    for (const double d : cell.searched)
      squares += (d - cell.mean_searched()) * (d - cell.mean_searched());
    freedom += std::max(0.0, static_cast<double>(cell.searched.size()) - 1);
  }
  const double variance = freedom > 0 ? squares / freedom : 0;
  const double grid = step * step / 12;
  std::vector<stats::DimensionPoint> points;
  for (const auto& [n, cell] : setup.cells) {
    const auto x = static_cast<double>(n);
    if (cell.has_mean()) {
      const auto count = static_cast<double>(cell.searched.size());
      points.push_back({x, cell.mean_searched(), std::sqrt(std::max(variance / count, grid))});
    } else if (cell.beyond == 0 && !cell.curves.empty()) {
      // A curve is for one pattern, and patterns differ, but by no more than their searches do.
      // With k = 1 all patterns are equivalent.
      const double between = setup.setup.k == 1 ? 0 : variance;
      double sum = 0;
      double square = 0;
      for (const DminMedian& each : cell.curves) {
        sum += centre(each, step);
        square += each.deviation * each.deviation + between;
      }
      const auto count = static_cast<double>(cell.curves.size());
      points.push_back({x, sum / count, std::sqrt(std::max(square / (count * count), grid))});
    }
  }
  // At d = 2n the whole space is used and nothing is random, so these points say nothing
  // about a law.
  std::erase_if(points, [](const stats::DimensionPoint& p) { return p.d >= 2 * p.n; });
  return points;
}

std::vector<Fig3Setup> setups_from(const GridRequest& request, const std::vector<DonePoint>& done) {
  std::vector<Fig3Setup> setups;
  for (const DonePoint& point : done) {
    Fig3Setup& setup = of_setup(setups, setup_of(point.parameters));
    Fig3Cell& cell = setup.cells[point.parameters.at("n")];
    if (!is_search(point.parameters)) {
      const AcceptanceFit fit = fit_of(point);
      cell.curves.push_back(dmin_median(fit, request.value("Q"), request.whole("step")));
      cell.p_values.push_back(fit.p_value);
    } else if (point.result.at("d") != 0) {
      cell.searched.push_back(point.result.at("d"));
    } else {
      ++cell.beyond;
    }
  }
  for (Fig3Setup& setup : setups) {
    setup.points = growth_points(setup, request.value("step"));
    if (setup.points.size() < 3) continue;
    for (const stats::DimensionLaw law :
         {stats::DimensionLaw::logarithmic, stats::DimensionLaw::power,
          stats::DimensionLaw::confined})
      setup.fits.push_back(stats::fit_dimension(law, setup.points));
  }
  return setups;
}

std::string bound_text(const DimensionBound& bound) {
  return bound.vacuous ? fmt::format("({})", bound.d) : fmt::format("{}", bound.d);
}

std::vector<std::vector<std::string>> table_of(const std::vector<Fig3Setup>& setups) {
  std::vector<std::vector<std::string>> table{{"setup", "n", "searches", "median d", "least",
                                               "most", "from p(d)", "+-", "fit p", "bound (6)",
                                               "sharper"}};
  for (const Fig3Setup& setup : setups)
    for (const auto& [n, cell] : setup.cells) {
      std::vector<std::string> row{name_of(setup.setup), fmt::format("{}", n),
                                   fmt::format("{}", cell.searched.size())};
      row.resize(9, "-");
      if (!cell.searched.empty()) {
        std::vector<double> sorted = cell.searched;
        std::ranges::sort(sorted);
        row[3] = fmt::format("{}", sorted[(sorted.size() - 1) / 2]);
        row[4] = fmt::format("{}", sorted.front());
        row[5] = fmt::format("{}", sorted.back());
      }
      if (!cell.curves.empty()) {
        double sum = 0;
        double square = 0;
        for (const DminMedian& each : cell.curves) {
          sum += static_cast<double>(each.d);
          square += each.deviation * each.deviation;
        }
        const auto count = static_cast<double>(cell.curves.size());
        row[6] = fmt::format("{:.0f}", sum / count);
        row[7] = fmt::format("{:.1f}", 1.96 * std::sqrt(square) / count);
        row[8] = fmt::format("{:.2f}", *std::ranges::min_element(cell.p_values));
      }
      const PatternSetup& s = setup.setup;
      row.push_back(bound_text(paper_bound(n, s.k, s.gamma, s.eps1, s.eps2)));
      row.push_back(bound_text(sharper_bound(n, s.k, s.gamma, s.eps1, s.eps2)));
      table.push_back(row);
    }
  return table;
}

std::vector<std::vector<std::string>> fits_of(const std::vector<Fig3Setup>& setups) {
  std::vector<std::vector<std::string>> table{{"setup", "slope b", "+-", "of (6)", "of sharper",
                                               "power", "+-", "chi2/df log", "power", "confined"}};
  for (const Fig3Setup& setup : setups) {
    if (setup.fits.empty()) continue;
    const stats::DimensionFit& log = setup.fit(stats::DimensionLaw::logarithmic);
    const stats::DimensionFit& power = setup.fit(stats::DimensionLaw::power);
    const auto misfit = [](const stats::DimensionFit& fit) {
      return fmt::format("{:.2f}", fit.chi2 / static_cast<double>(fit.degrees));
    };
    table.push_back({name_of(setup.setup), fmt::format("{:.1f}", log.v),
                     fmt::format("{:.1f}", log.half_width()),
                     fmt::format("{:.0f}", bound_slope(setup.setup, paper_bound)),
                     fmt::format("{:.0f}", bound_slope(setup.setup, sharper_bound)),
                     fmt::format("{:.3f}", power.v), fmt::format("{:.3f}", power.half_width()),
                     misfit(log), misfit(power), misfit(setup.fit(stats::DimensionLaw::confined))});
  }
  return table;
}

/// Counts over the fits of all setups.
struct Count {
  std::int64_t setups = 0;
  std::int64_t log_holds = 0;
  std::int64_t log_better = 0;
  std::int64_t power_better = 0;
  std::int64_t confined_holds = 0;
  std::int64_t confined_best = 0;
  std::int64_t flatter = 0;
};
Count count_fits(const std::vector<Fig3Setup>& setups) {
  Count count;
  for (const Fig3Setup& setup : setups) {
    if (setup.fits.empty()) continue;
    const stats::DimensionFit& log = setup.fit(stats::DimensionLaw::logarithmic);
    const stats::DimensionFit& power = setup.fit(stats::DimensionLaw::power);
    const stats::DimensionFit& confined = setup.fit(stats::DimensionLaw::confined);
    ++count.setups;
    count.log_holds += log.p_value >= significance ? 1 : 0;
    count.log_better += stats::much_likelier(log, power) ? 1 : 0;
    count.power_better += stats::much_likelier(power, log) ? 1 : 0;
    count.confined_holds += confined.p_value >= significance ? 1 : 0;
    count.confined_best +=
        stats::much_likelier(confined, log) && stats::much_likelier(confined, power) ? 1 : 0;
    count.flatter += log.v + log.half_width() < bound_slope(setup.setup, paper_bound) ? 1 : 0;
  }
  return count;
}

/// A sentence on how well curves agree with their counts and with searches.
std::string curves_text(const std::vector<Fig3Setup>& setups, double step) {
  std::int64_t curves = 0;
  std::int64_t fit = 0;
  std::int64_t compared = 0;
  double apart = 0;
  for (const Fig3Setup& setup : setups)
    for (const auto& [n, cell] : setup.cells) {
      for (const double p : cell.p_values) fit += p >= significance ? 1 : 0;
      curves += static_cast<std::int64_t>(cell.curves.size());
      if (!cell.has_mean() || cell.curves.empty()) continue;
      apart = std::max(apart, std::abs(cell.mean_searched() - centre(cell.curves.front(), step)));
      ++compared;
    }
  std::string text;
  if (curves > 0) text += fmt::format("; {} of {} curves p(d) fit their counts", fit, curves);
  if (compared > 0)
    text += fmt::format(
        ", and curves and searches of the same n differ by at most {:.1f} in d ({} compared, step "
        "{:g})",
        apart, compared, step);
  return text;
}

std::vector<std::string> sentences_of(const std::vector<Fig3Setup>& setups, double step) {
  const Count count = count_fits(setups);
  if (count.setups == 0)
    return {"Too few lengths are done for a law: three are needed in a setup.",
            fmt::format("Nothing can be said of the claim yet{}.", curves_text(setups, step))};
  return {fmt::format(
              "The paper's d = a + b log n {} here: it fits {} of {} setups within their errors "
              "(chi-squared, level {}), is 20 times as likely as a power law or more in {} and as "
              "much less in {}, and rises less than bound (6) in {}.",
              stats::verdict(count.log_holds, count.setups), count.log_holds, count.setups,
              significance, count.log_better, count.power_better, count.flatter),
          fmt::format(
              "1/(2/d - 1/n), which allows for d/2 nearing n, is linear in log n in {} of {} "
              "setups and 20 times as likely as either other law in {}{}.",
              count.confined_holds, count.setups, count.confined_best, curves_text(setups, step))};
}

}  // namespace

SweepReport fig3_report(const GridRequest& request, const std::vector<DonePoint>& done) {
  const std::vector<Fig3Setup> setups = setups_from(request, done);
  SweepReport report;
  report.table = table_of(setups);
  report.fits = fits_of(setups);
  report.sentences = sentences_of(setups, request.value("step"));
  report.vega = fig3_chart(setups, request.value("step"));
  return report;
}

}  // namespace tamis::lab::experiments
