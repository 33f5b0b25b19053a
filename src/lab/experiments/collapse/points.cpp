// The `collapse` sweep: does attention collapse as the context grows (Theorem 5.1 of the second
// paper)? Collapse may mean that the heaviest key takes all mass, that the effective support e^H
// shrinks, or that the first token takes all mass. Each figure is measured over n on synthetic
// heads for three ways in which R may grow, and on the layers of a trace. A synthetic point takes
// about 20 ns per entry of a token and 8 ns per logit.
#include <cmath>
#include <numeric>

#include <tamis/workspace.h>

#include "core/fail.h"
#include "lab/experiments/axes.h"
#include "lab/experiments/collapse/collapse.h"
#include "lab/experiments/regime.h"
#include "lab/experiments/synthetic_figures.h"
#include "lab/experiments/trace_points.h"
#include "lab/profile/head.h"
#include "lab/stats/bootstrap.h"

namespace tamis::lab::experiments {
namespace {

std::vector<GridPoint> points(const GridRequest& request) {
  std::vector<GridPoint> all;
  for (const RiseName& regime : rises())
    for (const double R : request.values("R"))
      add_synthetic(all, request, {{"regime", regime.name}, {"R", R}});
  add_layers(all, request);
  return all;
}

/// The mean of each figure over some rows; for the support, the mean of its
/// logarithm, the entropy.
struct Means {
  double top1 = 0;
  double entropy = 0;
  double first = 0;
  double rows = 0;
  void add(const RowFigures& figures, std::size_t row) {
    top1 += figures.top1[row];
    entropy += figures.entropy[row];
    first += figures.sink[row];
    rows += 1;
  }
  /// The mean of a figure. A mass too small for f32 counts as the smallest normal f32.
  [[nodiscard]] double of(Figure figure) const {
    if (figure == Figure::support) return std::exp(entropy / rows);
    const double mass = (figure == Figure::top1 ? top1 : first) / rows;
    return std::max<double>(mass, std::numeric_limits<float>::min());
  }
};

Json synthetic_point(const Json& p, const Scene& scene) {
  const RowFigures rows = synthetic_figures(synthetic_of(p), 0.5, scene);
  Means means;
  for (std::size_t row = 0; row < rows.top1.size(); ++row) means.add(rows, row);
  Json result = Json::object();
  for (const FigureName& each : figure_names()) result[each.name] = means.of(each.figure);
  return result;
}

/// The exponent of a figure over n with a confidence interval that accounts for the dependence of
/// neighbouring rows; null for fewer than 24 rows or if all have one length.
Json growth(const std::vector<double>& n, const std::vector<double>& values, std::uint64_t seed) {
  const stats::Series series = stats::make_series(n, values);
  const stats::Line line = stats::least_squares(series.x, series.y);
  if (series.size() < 24 || !(line.sxx > 0)) return nullptr;
  const stats::ConfidenceInterval interval =
      stats::exponent_interval(series, line, stats::dependence(series), 0.95, 999, seed);
  return {line.slope, interval.low, interval.high};
}

Json trace_point(const Json& p, const Scene& scene) {
  const Trace& trace = scene.trace->trace;
  const TraceLayer& layer = layer_of(*scene.trace, p);
  const Shape& shape = layer.shape;
  const LayerData data = trace.read(layer);
  const PageTables tables = data.pages();
  Workspace workspace(scene.threads);
  const RowFigures rows = row_figures(
      shape, {data.q.data(), shape.rows(), shape.head_dim}, tables.heads(), trace.seen(),
      {.eps = {0.5}, .sinks = 1, .windows = {1}}, workspace, scene.progress);
  // The heads of one query share the text and are therefore averaged into one observation.
  std::vector<Means> means(static_cast<std::size_t>(shape.queries));
  for (std::size_t row = 0; row < rows.top1.size(); ++row)
    if (rows.n[row] > 0) means[row % means.size()].add(rows, row);
  std::vector<double> n;
  std::vector<std::vector<double>> values(figure_names().size());
  for (std::size_t query = 0; query < means.size(); ++query) {
    if (means[query].rows == 0) continue;
    n.push_back(static_cast<double>(rows.n[query]));
    for (std::size_t f = 0; f < values.size(); ++f)
      values[f].push_back(means[query].of(figure_names()[f].figure));
  }
  Json result{{"heads", shape.query_heads}, {"bins", Json::array()}, {"growth", Json::object()}};
  for (std::size_t f = 0; f < values.size(); ++f)
    result["growth"][figure_names()[f].name] = growth(n, values[f], p.at("seed"));
  for (const CollapseBin& bin : profiling::collapse_of(rows, 8)) {
    const auto three = [](const Quantiles& q) { return Json{q.p10, q.median, q.p90}; };
    result["bins"].push_back({{"n", bin.n},
                              {"top1", three(bin.top1)},
                              {"support", three(bin.effective_support)},
                              {"first", three(bin.sink)}});
  }
  return result;
}

Json compute(const Json& p, const Scene& scene) {
  return p.at("part") == "trace" ? trace_point(p, scene) : synthetic_point(p, scene);
}

}  // namespace

const std::vector<FigureName>& figure_names() {
  static const std::vector<FigureName> all{
      {Figure::top1, "top1", "mass of the heaviest key", +1},
      {Figure::support, "support", "effective support e^H", -1},
      {Figure::first, "first", "mass of the first token", +1}};
  return all;
}

const Experiment& collapse_experiment() {
  static const Experiment experiment{
      {.name = "collapse",
       .what = "top-1 mass, effective support and first-token mass as n grows (Theorem 5.1)",
       .axes = {{.name = "R",
                 .what = "B^2*|W|_F at n = 1024, fixed or growing as sqrt(log n) or log n",
                 .values = {3, 6, 12, 24},
                 .least = 1e-3,
                 .most = 1000},
                axis_n({256, 1024, 4096, 16384, 65536}),
                axis_d(),
                axis_queries(64),
                axis_replicates(8)},
       .takes_trace = true},
      points,
      compute,
      collapse_report};
  return experiment;
}

}  // namespace tamis::lab::experiments
