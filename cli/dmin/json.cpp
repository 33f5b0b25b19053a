// The object that `tamis dmin --json` prints.
#include <algorithm>
#include <nlohmann/json.hpp>

#include <tamis/info.h>

#include "dmin/report.h"
#include "terminal/json.h"

namespace tamis::cli {
namespace {

using nlohmann::ordered_json;

ordered_json dimension(std::int64_t d) { return d == 0 ? ordered_json() : ordered_json(d); }

ordered_json bound_json(const lab::DimensionBound& bound) {
  return {{"d", bound.d}, {"vacuous", bound.vacuous}};
}

ordered_json acceptance_json(const std::vector<lab::Acceptance>& all) {
  ordered_json list = ordered_json::array();
  for (const lab::Acceptance& a : all) {
    const lab::ProbabilityInterval p = lab::clopper_pearson(a.accepted, a.draws, 0.05);
    list.push_back({{"d", a.d},
                    {"draws", a.draws},
                    {"accepted", a.accepted},
                    {"p", static_cast<double>(a.accepted) / static_cast<double>(a.draws)},
                    {"low", p.low},
                    {"high", p.high}});
  }
  return list;
}

ordered_json law_json(const lab::DminLaw& law) {
  return {{"Q", law.Q},
          {"median", dimension(law.median)},
          {"median_low", dimension(law.median_low)},
          {"median_high", dimension(law.median_high)},
          {"p05", dimension(law.p05)},
          {"p95", dimension(law.p95)},
          {"window_error", law.window_error},
          {"probability", law.probability},
          {"at_most", law.at_most},
          {"low", law.low},
          {"high", law.high}};
}

}  // namespace

const lab::DminLaw& law_of(const DminReport& report) {
  return *std::find_if(report.estimate->laws.begin(), report.estimate->laws.end(),
                       [&](const lab::DminLaw& law) { return law.Q == report.Q; });
}

std::int64_t least_d(const DminReport& report) {
  if (report.estimate) return law_of(report).median;
  std::vector<std::int64_t> found;
  for (const lab::DminSearch& search : report.searches)  // 0, none found, ranks above any d
    found.push_back(search.d == 0 ? 2 * report.problem.n + 1 : search.d);
  std::sort(found.begin(), found.end());
  const std::int64_t median = found[(found.size() - 1) / 2];
  return median > 2 * report.problem.n ? 0 : median;
}

std::string dmin_json(const DminReport& report) {
  const lab::DminProblem& problem = report.problem;
  const std::int64_t d = least_d(report);
  std::int64_t draws = 0;
  ordered_json p;
  ordered_json details;
  if (report.estimate) {
    for (const lab::Acceptance& a : report.estimate->pooled) {
      draws += a.draws;
      if (a.d == d) p = static_cast<double>(a.accepted) / static_cast<double>(a.draws);
    }
    details["acceptance"] = acceptance_json(report.estimate->pooled);
    for (const auto& matrix : report.estimate->matrices)
      details["matrices"].push_back(acceptance_json(matrix));
    details["confidence"] = 1 - report.delta;
    for (const lab::DminLaw& law : report.estimate->laws) details["laws"].push_back(law_json(law));
  } else {
    details["searches"] = ordered_json::array();
    for (const lab::DminSearch& s : report.searches) {
      draws += s.draws;
      if (s.d == d && d != 0 && p.is_null()) p = s.p;
      details["searches"].push_back({{"d_min", dimension(s.d / 2)},
                                     {"d", dimension(s.d)},
                                     {"draws", s.draws},
                                     {"draws_at_d", s.draws_at_d},
                                     {"p", s.p},
                                     {"p_low", s.interval.low},
                                     {"p_high", s.interval.high}});
    }
  }
  ordered_json json{
      {"d_min", dimension(d / 2)},
      {"d", dimension(d)},
      {"draws", draws},
      {"p", p},
      {"method", report.estimate ? "estimate" : "search"},
      {"n", problem.n},
      {"k", problem.k},
      {"gamma", problem.gamma},
      {"eps1", problem.eps1},
      {"eps2", problem.eps2},
      {"causal", problem.causal},
      {"Q", report.Q},
      {"step", report.step},
      {"from", report.from == 0 ? report.step : report.from},
      {"seed", problem.seed},
      {"bound", bound_json(lab::paper_bound(problem.n, problem.k, problem.gamma, problem.eps1,
                                            problem.eps2))},
      {"sharper_bound", bound_json(lab::sharper_bound(problem.n, problem.k, problem.gamma,
                                                      problem.eps1, problem.eps2))}};
  json.update(details);
  json["target"] = target();
  json["threads"] = report.threads;
  json["seconds"] = report.seconds;
  return json_text(json);
}

}  // namespace tamis::cli
