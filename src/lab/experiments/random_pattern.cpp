#include "lab/experiments/random_pattern.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "core/fail.h"
#include "lab/dmin/grid.h"

namespace tamis::lab::experiments {
namespace {

Json parameters_of(const GridRequest& request, const PatternSetup& setup, std::int64_t n,
                   const char* method) {
  return {{"method", method},     {"n", n},
          {"k", setup.k},         {"gamma", setup.gamma},
          {"eps1", setup.eps1},   {"eps2", setup.eps2},
          {"seed", request.seed}, {"step", request.whole("step")}};
}

/// An approximation of the least d, used only to guess times: 1/(2/d − 1/n) grows like k·log n.
double likely_d(const PatternSetup& setup, std::int64_t n) {
  const double margin = std::log(setup.gamma / setup.eps1) / setup.eps2;
  const double y = 14 * std::pow(static_cast<double>(setup.k), 0.8) * (0.4 + margin) *
                   (0.4 + margin) * std::log(static_cast<double>(n));
  return 2 / (1 / y + 1 / static_cast<double>(n));
}

/// Seconds that a completed draw takes on one core.
double draw_seconds(double d, std::int64_t n) {
  const auto N = static_cast<double>(n);
  const double r = std::min(0.5 * d, N - 0.5 * d);
  return 1e-10 * N * r * (r + N);
}

}  // namespace

std::vector<PatternSetup> setups_of(const GridRequest& request) {
  std::vector<PatternSetup> all;
  for (const double eps1 : request.values("eps1"))
    for (const std::int64_t k : request.wholes("k"))
      for (const double gamma : request.values("gamma")) {
        const PatternSetup setup{k, k == 1 ? 1 : gamma, eps1, request.value("eps2")};
        if (std::ranges::find(all, setup) == all.end()) all.push_back(setup);
      }
  return all;
}

PatternSetup setup_of(const Json& p) {
  return {p.at("k"), p.at("gamma"), p.at("eps1"), p.at("eps2")};
}

std::string name_of(const PatternSetup& setup) {
  return fmt::format("k {}{}, eps1 {}", setup.k,
                     setup.k == 1 ? "" : fmt::format(", gamma {}", setup.gamma), setup.eps1);
}

void check_search(const GridRequest& request, double Q) {
  const std::int64_t step = request.whole("step");
  if (step % 2 != 0)
    core::fail(Code::usage, "the axis step of {} has the value {}; d goes up by even steps",
               request.kind.name, step);
  for (const std::int64_t n : request.wholes("n")) {
    if (step > 2 * n)
      core::fail(Code::usage,
                 "the axis step of {} has the value {}; d goes no further than 2n = {}",
                 request.kind.name, step, 2 * n);
    (void)dmin::draws_of(Q, n);
  }
}

GridPoint search_point(const GridRequest& request, const PatternSetup& setup, std::int64_t n,
                       double Q, std::int64_t matrix) {
  Json p = parameters_of(request, setup, n, "search");
  p["matrix"] = matrix;
  p["Q"] = Q;
  const double d = likely_d(setup, n);
  const auto N = static_cast<double>(n);
  const double seconds = Q * N * (2e-8 * N * d / 8 + 0.6 * draw_seconds(d, n));
  return {std::move(p), seconds};
}

GridPoint curve_point(const GridRequest& request, const PatternSetup& setup, std::int64_t n,
                      std::int64_t matrix) {
  Json p = parameters_of(request, setup, n, "curve");
  p["matrix"] = matrix;
  p["accepted"] = request.whole("accepted");
  p["least"] = request.value("least");
  const double accepted = request.value("accepted");
  return {std::move(p),
          (10 + 0.5 / request.value("least")) * accepted * draw_seconds(likely_d(setup, n), n)};
}

DminProblem pattern_problem(const Json& p) {
  return {.n = p.at("n"),
          .k = p.at("k"),
          .gamma = p.at("gamma"),
          .eps1 = p.at("eps1"),
          .eps2 = p.at("eps2"),
          .causal = false,
          .seed = p.at("seed")};
}

bool is_search(const Json& parameters) { return parameters.at("method") == "search"; }

Json compute_pattern_point(const Json& p, const Scene& scene) {
  const DminProblem problem = pattern_problem(p);
  const std::int64_t matrix = p.at("matrix");
  const Pattern pattern = problem.pattern(matrix);
  if (is_search(p)) {
    const SearchOptions options{
        .Q = p.at("Q"), .step = p.at("step"), .from = 0, .threads = scene.threads};
    const DminSearch found = search_dmin(pattern, problem.conditions(), problem.draw_seed(matrix),
                                         options, scene.progress);
    return {{"d", found.d}, {"draws", found.draws}, {"at_d", found.draws_at_d}};
  }
  const AcceptanceFitOptions options{.accepted = p.at("accepted"),
                                     .least = p.at("least"),
                                     .step = p.at("step"),
                                     .threads = scene.threads};
  const AcceptanceFit fit = fit_acceptance(pattern, problem.conditions(), problem.draw_seed(matrix),
                                           options, scene.progress);
  Json counts = Json::array();
  for (const Acceptance& seen : fit.counts) counts.push_back({seen.d, seen.draws, seen.accepted});
  return {{"a", fit.a},
          {"b", fit.b},
          {"var_a", fit.var_a},
          {"var_b", fit.var_b},
          {"cov_ab", fit.cov_ab},
          {"deviance", fit.deviance},
          {"degrees", fit.degrees},
          {"p_value", fit.p_value},
          {"counts", std::move(counts)}};
}

AcceptanceFit fit_of(const DonePoint& point) {
  const Json& r = point.result;
  AcceptanceFit fit;
  fit.n = point.parameters.at("n");
  fit.a = r.at("a");
  fit.b = r.at("b");
  fit.var_a = r.at("var_a");
  fit.var_b = r.at("var_b");
  fit.cov_ab = r.at("cov_ab");
  fit.deviance = r.at("deviance");
  fit.degrees = r.at("degrees");
  fit.p_value = r.at("p_value");
  for (const Json& seen : r.at("counts"))
    fit.counts.push_back({seen.at(0), seen.at(1), seen.at(2)});
  return fit;
}

std::vector<SweepAxis> pattern_axes() {
  const auto several = [](const char* name, const char* what, std::vector<double> values,
                          double least, double most, bool whole) {
    return SweepAxis{name, what, std::move(values), least, most, whole, false};
  };
  const auto one = [](const char* name, const char* what, double value, double least, double most,
                      bool whole) {
    return SweepAxis{name, what, {value}, least, most, whole, true};
  };
  return {
      several("n", "rows of the pattern",
              {512, 768, 1024, 1280, 1536, 1792, 2048, 2304, 2560, 2816, 3072}, 8, 1 << 14, true),
      several("k", "permutations in the pattern", {1, 2, 4}, 1, 64, true),
      several("gamma", "nonzeros of a row are 1 or gamma", {1, 2}, 1, 1e6, false),
      several("eps1", "epsilon of condition (23)", {0.5, 0.1}, 1e-9, 1, false),
      one("eps2", "epsilon of condition (24)", 1, 1e-9, 100, false),
      one("step", "spacing of the grid of d, even", 8, 2, 1024, true),
      one("matrices", "patterns for every n that is searched", 5, 1, 1000, true),
      one("accepted", "draws that a curve sees accepted at every d", 4, 1, 1e6, true),
      one("least", "p(d) down to which a curve counts", 0.05, 1e-6, 0.5, false)};
}

}  // namespace tamis::lab::experiments
