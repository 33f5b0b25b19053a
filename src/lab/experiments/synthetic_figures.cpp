#include "lab/experiments/synthetic_figures.h"

#include <algorithm>
#include <cmath>

#include <tamis/workspace.h>

#include "lab/experiments/regime.h"
#include "lab/experiments/replicates.h"

namespace tamis::lab::experiments {
namespace {

/// A guess at the seconds that synthetic_figures takes on one core.
double synthetic_seconds(std::int64_t n, std::int64_t d, std::int64_t queries) {
  const auto keys = static_cast<double>(n);
  return 1e-3 + keys * (3e-8 * static_cast<double>(d) + 8e-9 * static_cast<double>(queries));
}

}  // namespace

RowTheory row_theory(const GaussianNull& null, double n, double R, double d) {
  // Gauss–Hermite quadrature with three nodes over log sigma; E log sigma is 0.7/d below log(R/3).
  const double variance = 0.7 / d;
  const double sigma = R / 3 * std::exp(-variance);
  const double step = std::exp(std::sqrt(3 * variance));
  double mean = 0;
  double square = 0;
  for (const auto& [at, weight] : {std::pair(sigma / step, 1.0 / 6), std::pair(sigma, 2.0 / 3),
                                   std::pair(sigma * step, 1.0 / 6)}) {
    const GaussianKEps row = null.at(n, at);
    mean += weight * row.log_mean;
    square += weight * (row.log_mean * row.log_mean + row.log_sd * row.log_sd);
  }
  return {mean, std::sqrt(std::max(0.0, square - mean * mean))};
}

RowFigures synthetic_figures(const Synthetic& synthetic, double eps, const Scene& scene) {
  const SyntheticHead head = synthetic_head(synthetic);
  const Shape& shape = head.shape;
  const PageTables tables(shape.dtype, head.k.data(), head.v.data(), shape.kv_heads, synthetic.n,
                          shape.head_dim, shape.value_dim);
  Workspace workspace(scene.threads);
  return row_figures(shape, {head.q.data(), shape.rows(), shape.head_dim}, tables.heads(), {},
                     {.eps = {eps}, .sinks = 1, .windows = {1}}, workspace, scene.progress);
}

double spread_of(const RowFigures& rows) {
  double squares = 0;
  for (const double sigma : rows.sigma) squares += sigma * sigma;
  return std::sqrt(squares / static_cast<double>(rows.rows));
}

void add_synthetic(std::vector<GridPoint>& points, const GridRequest& request,
                   const Json& setting) {
  const std::int64_t queries = request.whole("queries");
  const std::int64_t d = request.whole("d");
  for (const std::int64_t n : request.wholes("n"))
    for (std::int64_t replicate = 0; replicate < request.whole("replicates"); ++replicate) {
      Json parameters{{"part", "synthetic"}};
      parameters.update(setting);
      parameters["n"] = n;
      if (request.has("eps")) parameters["eps"] = request.value("eps");
      parameters.update({{"d", d},
                         {"queries", queries},
                         {"replicate", replicate},
                         {"seed", replicate_seed(request.seed, replicate)}});
      points.push_back({std::move(parameters), synthetic_seconds(n, d, queries)});
    }
}

Synthetic synthetic_of(const Json& p) {
  Synthetic head{.n = p.at("n"), .queries = p.at("queries"), .d = p.at("d"), .value_dim = 1};
  head.R = Regime::read(p).at(static_cast<double>(head.n));
  head.seed = p.at("seed");
  return head;
}

}  // namespace tamis::lab::experiments
