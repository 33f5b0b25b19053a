// The `norm` sweep: how many keys a row needs as a function of the norm of the weights, R =
// B²‖W‖_F. It is measured on synthetic heads for which the theory's assumptions hold, with R fixed
// and with R growing as √log n, and on every head of a trace. A synthetic point takes about 20 ns
// per entry of a token and 8 ns per logit.
#include <cmath>

#include <tamis/lab/profile.h>

#include "core/fail.h"
#include "lab/experiments/axes.h"
#include "lab/experiments/norm/norm.h"
#include "lab/experiments/regime.h"
#include "lab/experiments/synthetic_figures.h"
#include "lab/experiments/trace_points.h"

namespace tamis::lab::experiments {
namespace {

std::vector<GridPoint> points(const GridRequest& request) {
  std::vector<GridPoint> all;
  for (const Rise rise : {Rise::fixed, Rise::root})
    for (const double R : request.values("R"))
      add_synthetic(all, request, {{"regime", named(rise).name}, {"R", R}});
  add_layers(all, request);
  return all;
}

Json synthetic_point(const Json& p, const Scene& scene) {
  const RowFigures rows = synthetic_figures(synthetic_of(p), p.at("eps"), scene);
  return {{"k", rows.k_eps}, {"spread", spread_of(rows)}};
}

/// A NaN, which means that a number could not be computed, becomes null.
Json number(double x) { return std::isfinite(x) ? Json(x) : Json(nullptr); }

Json trace_point(const Json& p, const Scene& scene) {
  const TraceLayer& layer = layer_of(*scene.trace, p);
  ProfileOptions options;
  options.rows.eps = {p.at("eps").get<double>()};
  options.law.seed = p.at("seed");
  options.layers = {layer.layer};
  Workspace workspace(scene.threads);
  const Profile found = profile(scene.trace->trace, options, workspace, scene.progress);
  Json heads = Json::array();
  for (const HeadProfile& head : found.heads) {
    const KEpsProfile& of_eps = head.by_eps.front();
    Json entry{
        {"head", head.head},
        {"rows", head.rows},
        {"n", number(head.n.median)},
        {"spread", number(head.sigma.median)},
        {"k", {number(of_eps.k_eps.p10), number(of_eps.k_eps.median), number(of_eps.k_eps.p90)}},
        {"share", number(of_eps.share.median)},
        {"null", number(of_eps.null.median)},
        {"C", {number(of_eps.law.C), number(of_eps.law.C_low), number(of_eps.law.C_high)}},
        {"n_low", number(of_eps.law.n_low)},
        {"n_high", number(of_eps.law.n_high)}};
    entry["R"] = head.R ? number(*head.R) : Json(nullptr);
    entry["predicted"] = of_eps.predicted ? number(of_eps.predicted->k_eps) : Json(nullptr);
    entry["predicted_C"] = of_eps.predicted ? number(of_eps.predicted->exponent) : Json(nullptr);
    heads.push_back(std::move(entry));
  }
  return {{"heads", std::move(heads)}};
}

Json compute(const Json& p, const Scene& scene) {
  return p.at("part") == "trace" ? trace_point(p, scene) : synthetic_point(p, scene);
}

}  // namespace

const Experiment& norm_experiment() {
  static const Experiment experiment{
      {.name = "norm",
       .what = "k_eps against the norm of the weights, R = B^2*|W|_F",
       .axes = {{.name = "R",
                 .what = "B^2*|W|_F at n = 1024, fixed or growing as sqrt(log n)",
                 .values = {0.5, 1, 2, 4, 8, 16},
                 .least = 1e-3,
                 .most = 1000},
                axis_n({256, 1024, 4096, 16384, 65536}),
                axis_eps(),
                axis_d(),
                axis_queries(64),
                axis_replicates(8)},
       .takes_trace = true},
      points,
      compute,
      norm_report};
  return experiment;
}

}  // namespace tamis::lab::experiments
