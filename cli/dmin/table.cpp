// The page that `tamis dmin` prints.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include <tamis/info.h>

#include "dmin/report.h"
#include "terminal/table.h"

namespace tamis::cli {
namespace {

std::string dimension(std::int64_t d) { return d == 0 ? "none" : fmt::format("{}", d); }

std::string bound_text(const lab::DimensionBound& bound, std::int64_t n) {
  return bound.vacuous ? fmt::format("vacuous: d = {} is beyond 2n = {}", bound.d, 2 * n)
                       : fmt::format("{} columns (d = {})", bound.d / 2, bound.d);
}

std::string searches_text(const DminReport& report) {
  std::vector<std::vector<std::string>> rows{
      {"matrix", "d_min", "d", "draws", "at d", "p there", "95 %"}};
  for (std::size_t i = 0; i < report.searches.size(); ++i) {
    const lab::DminSearch& s = report.searches[i];
    rows.push_back({std::to_string(i), dimension(s.d / 2), dimension(s.d), std::to_string(s.draws),
                    std::to_string(s.draws_at_d), fmt::format("{:.2g}", s.p),
                    fmt::format("{:.2g} to {:.2g}", s.interval.low, s.interval.high)});
  }
  return table_text(rows) +
         "\np there: 1 divided by the number of draws at d; its interval assumes that this number "
         "is geometric.\n";
}

/// Returns the rows of p(d) from the line before the first success to the line where success is
/// certain.
std::string acceptance_text(const DminReport& report) {
  const std::vector<lab::Acceptance>& all = report.estimate->pooled;
  const auto seen =
      std::find_if(all.begin(), all.end(), [](const lab::Acceptance& a) { return a.accepted > 0; });
  std::vector<std::vector<std::string>> rows{{"columns", "d", "draws", "accepted", "p", "95 %"}};
  for (auto a = seen == all.begin() ? seen : seen - 1; a != all.end(); ++a) {
    const lab::ProbabilityInterval p = lab::clopper_pearson(a->accepted, a->draws, 0.05);
    rows.push_back(
        {std::to_string(a->d / 2), std::to_string(a->d), std::to_string(a->draws),
         std::to_string(a->accepted),
         fmt::format("{:.3g}", static_cast<double>(a->accepted) / static_cast<double>(a->draws)),
         fmt::format("{:.2g} to {:.2g}", p.low, p.high)});
  }
  return table_text(rows);
}

std::string laws_text(const DminReport& report) {
  std::vector<std::vector<std::string>> rows{{"Q", "d at 5 %", "median d",
                                              fmt::format("{:g} % sure", 100 * (1 - report.delta)),
                                              "d at 95 %", "mean d"}};
  for (const lab::DminLaw& law : report.estimate->laws) {
    double mean = 0;
    for (std::size_t i = 0; i < law.probability.size(); ++i)
      mean += law.probability[i] * static_cast<double>(report.estimate->pooled[i].d);
    rows.push_back({fmt::format("{:g}", law.Q), dimension(law.p05), dimension(law.median),
                    fmt::format("{} to {}", dimension(law.median_low), dimension(law.median_high)),
                    dimension(law.p95),
                    fmt::format("{:.1f}", mean / std::max(1e-300, law.at_most.back()))});
  }
  return table_text(rows);
}

}  // namespace

std::string dmin_table(const DminReport& report) {
  const lab::DminProblem& p = report.problem;
  const std::int64_t d = least_d(report);
  std::string text = fmt::format(
      "n {}, k {}, gamma {:g}, eps1 {:g}, eps2 {:g}{}, Q {:g}, d by steps of {} from {}, seed "
      "{}\n\n",
      p.n, p.k, p.gamma, p.eps1, p.eps2, p.causal ? ", causal" : "", report.Q, report.step,
      report.from == 0 ? report.step : report.from, p.seed);
  const char* what = report.estimate              ? "median of its law"
                     : report.searches.size() > 1 ? "median"
                                                  : "found";
  text += d == 0 ? "d_min      none up to n columns\n"
                 : fmt::format("d_min      {} columns (d = {}), {}\n", d / 2, d, what);
  text += fmt::format("bound (6)  {}\n",
                      bound_text(lab::paper_bound(p.n, p.k, p.gamma, p.eps1, p.eps2), p.n));
  text += fmt::format("sharper    {}\n\n",
                      bound_text(lab::sharper_bound(p.n, p.k, p.gamma, p.eps1, p.eps2), p.n));
  if (report.estimate) {
    text += acceptance_text(report) + "\n" + laws_text(report) + "\n";
    const std::size_t matrices = report.estimate->matrices.size();
    text += fmt::format(
        "p: share of draws accepted{}. The medians' ranges hold for all Q at once, for {}.\n",
        matrices > 1 ? fmt::format(", all {} matrices together", matrices) : "",
        matrices > 1 ? "these matrices" : "this matrix");
    const double error = law_of(report).window_error;
    if (error > 0)
      text += fmt::format(
          "Starting at d = {} changes a probability of the law for Q = {:g} by at most {:.2g} (if "
          "p does not fall as d grows).\n",
          report.estimate->pooled.front().d, report.Q, error);
  } else {
    text += searches_text(report);
  }
  return text + fmt::format(
                    "d_min counts the columns of queries and keys; d is the paper's, twice as "
                    "many.\n{:.3f} s on {} "
                    "threads ({})\n",
                    report.seconds, report.threads, target());
}

}  // namespace tamis::cli
