// The `frontier` sweep: how many dimensions do optimised witnesses need for a given norm, and
// does that number still grow like log n? A point is a single dimension. Every witness is
// verified in exact arithmetic.
#include "lab/experiments/frontier/frontier.h"

#include <cmath>

#include <tamis/lab/realise.h>

#include "lab/experiments/random_pattern.h"

namespace tamis::lab::experiments {
namespace {

std::vector<GridPoint> points(const GridRequest& request) {
  std::vector<GridPoint> all;
  for (const PatternSetup& setup : setups_of(request))
    for (const std::int64_t n : request.wholes("n"))
      for (const std::int64_t dim : request.wholes("dim"))
        for (std::int64_t matrix = 0; dim < n && matrix < request.whole("matrices"); ++matrix) {
          const auto x = static_cast<double>(n);
          all.push_back({Json{{"n", n},
                              {"k", setup.k},
                              {"gamma", setup.gamma},
                              {"eps1", setup.eps1},
                              {"eps2", setup.eps2},
                              {"dim", dim},
                              {"steps", request.whole("steps")},
                              {"matrix", matrix},
                              {"seed", request.seed}},
                         1.5e-4 * std::pow(x, 0.9) * (8 + static_cast<double>(dim)) *
                             static_cast<double>(request.whole("steps")) / 1000});
        }
  return all;
}

Json compute(const Json& p, const Scene& scene) {
  const DminProblem problem = pattern_problem(p);
  const std::int64_t matrix = p.at("matrix");
  const Pattern pattern = problem.pattern(matrix);
  FrontierOptions options;
  options.conditions = problem.conditions();
  options.dims = {p.at("dim").get<std::int64_t>()};
  options.steps = p.at("steps");
  options.seed = problem.draw_seed(matrix);
  options.threads = scene.threads;
  const Frontier found = frontier(pattern, options, scene.progress);
  const Attempt& best = found.points.front();
  Json result{
      {"verified", best.verified}, {"paper", found.paper}, {"lower_bound", found.lower_bound}};
  if (best.verified) {
    result["norm_product"] = best.norm_product;
    result["max_logit"] = best.max_logit;
    result["method"] = lab::name_of(best.method);
  }
  return result;
}

}  // namespace

const Experiment& frontier_experiment() {
  static const Experiment experiment{
      {"frontier",
       "dimension against norm of optimised witnesses, over n",
       {{"n", "rows of the pattern", {256, 512, 1024, 2048, 4096}, 8, 1 << 16, true, false},
        {"k", "permutations in the pattern", {1, 2}, 1, 64, true, false},
        {"gamma", "nonzeros of a row are 1 or gamma", {1}, 1, 1e6, false, false},
        {"eps1", "epsilon of condition (23)", {0.1}, 1e-9, 1, false, false},
        {"eps2", "epsilon of condition (24)", {1}, 1e-9, 100, false, true},
        {"dim", "columns of queries and keys", {4, 6, 8, 12, 16, 24, 32, 48}, 1, 1024, true, false},
        {"norm",
         "norms at which dimensions are compared, as multiples of the paper's",
         {1, 1.5, 2, 4},
         0.1,
         1e6,
         false,
         false},
        {"steps", "steps of each descent", {1000}, 1, 1e6, true, true},
        {"matrices", "patterns for every n", {2}, 1, 1000, true, true}},
       false},
      points,
      compute,
      frontier_report};
  return experiment;
}

}  // namespace tamis::lab::experiments
