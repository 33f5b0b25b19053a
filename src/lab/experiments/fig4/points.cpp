// Figure 4 of the first paper: how the least d depends on Q, where Q·n is the number of draws for
// every d. A point visits every d of the grid once and records the first accepted draw of each,
// which gives the least d for every Q at once.
#include "lab/experiments/fig4/fig4.h"

#include <algorithm>
#include <string>

#include "lab/dmin/grid.h"
#include "lab/experiments/random_pattern.h"

namespace tamis::lab::experiments {
namespace {

std::vector<GridPoint> points(const GridRequest& request) {
  std::vector<double> all_Q = request.values("Q");
  std::ranges::sort(all_Q);
  check_search(request, all_Q.front());
  std::vector<GridPoint> all;
  for (const PatternSetup& setup : setups_of(request))
    for (const std::int64_t n : request.wholes("n")) {
      for (std::int64_t matrix = 0; matrix < request.whole("matrices"); ++matrix) {
        GridPoint point = search_point(request, setup, n, all_Q.back(), matrix);
        point.parameters["method"] = "searches";
        point.parameters["Q"] = all_Q;
        point.seconds *= 1.5;  // the grid is followed beyond the least d of the largest Q
        all.push_back(std::move(point));
      }
      if (n >= request.whole("curve_from")) all.push_back(curve_point(request, setup, n, 0));
    }
  return all;
}

Json compute(const Json& p, const Scene& scene) {
  if (p.at("method") == "curve") return compute_pattern_point(p, scene);
  const DminProblem problem = pattern_problem(p);
  const std::int64_t matrix = p.at("matrix");
  const Pattern pattern = problem.pattern(matrix);
  const std::vector<double> all_Q = p.at("Q");
  const std::int64_t step = p.at("step");
  std::vector<std::int64_t> least(all_Q.size(), 0);  // 0 means that there is none up to 2n
  for (std::int64_t d = step; d <= 2 * problem.n && least.front() == 0; d += step) {
    const auto found = first_accepted(pattern, problem.conditions(), d,
                                      {0, dmin::draws_of(all_Q.back(), problem.n)},
                                      problem.draw_seed(matrix), scene.threads, scene.progress);
    for (std::size_t i = 0; found && i < all_Q.size(); ++i)
      if (least[i] == 0 && *found < dmin::draws_of(all_Q[i], problem.n)) least[i] = d;
  }
  return {{"d", least}};
}

}  // namespace

const Experiment& fig4_experiment() {
  static const Experiment experiment = [] {
    std::vector<SweepAxis> axes = pattern_axes();
    const auto axis = [&](const char* name) -> SweepAxis& {
      return *std::ranges::find(axes, std::string(name), &SweepAxis::name);
    };
    axis("n").values = {256, 384, 512, 768};
    axis("matrices").values = {3};
    axis("k").values = {1, 2};
    axis("gamma").values = {2};
    axis("eps1").values = {0.5};
    axes.push_back({"Q",
                    "draws for every d, as a multiple of n",
                    {0.1, 0.2, 0.5, 1, 2, 5},
                    1e-3,
                    1e3,
                    false,
                    false});
    axes.push_back({"curve_from", "least n with a curve", {256}, 0, 1 << 14, true, true});
    return Experiment{
        {"fig4", "the least d of the random construction over Q, the draws for every d", axes,
         false},
        points,
        compute,
        fig4_report,
        2};
  }();
  return experiment;
}

}  // namespace tamis::lab::experiments
