// Figure 3 of the first paper: the least d over n at which the paper's random construction
// finds a pattern of n rows. Does it grow like log n?
#include "lab/experiments/fig3/fig3.h"
#include "lab/experiments/random_pattern.h"

namespace tamis::lab::experiments {
namespace {

std::vector<GridPoint> points(const GridRequest& request) {
  check_search(request, request.value("Q"));
  std::vector<GridPoint> all;
  for (const PatternSetup& setup : setups_of(request))
    for (const std::int64_t n : request.wholes("n")) {
      const bool searched = n <= request.whole("search_to");
      for (std::int64_t matrix = 0; searched && matrix < request.whole("matrices"); ++matrix)
        all.push_back(search_point(request, setup, n, request.value("Q"), matrix));
      // If there are searches too, one curve is enough to show how far it can be trusted.
      const std::int64_t curves = searched ? 1 : request.whole("curves");
      for (std::int64_t matrix = 0; n >= request.whole("curve_from") && matrix < curves; ++matrix)
        all.push_back(curve_point(request, setup, n, matrix));
    }
  return all;
}

}  // namespace

const Experiment& fig3_experiment() {
  static const Experiment experiment = [] {
    std::vector<SweepAxis> axes = pattern_axes();
    axes.push_back({"Q", "draws for every d, as a multiple of n", {1}, 1e-3, 1e3, false, true});
    axes.push_back({"search_to",
                    "largest n that is searched as the paper does; above, curves",
                    {1024},
                    0,
                    1 << 14,
                    true,
                    true});
    axes.push_back({"curve_from", "least n with a curve", {512}, 0, 1 << 14, true, true});
    axes.push_back({"curves", "patterns for every n above search_to", {1}, 1, 1000, true, true});
    return Experiment{{"fig3", "the least d of the random construction over n", axes, false},
                      points,
                      compute_pattern_point,
                      fig3_report,
                      2};
  }();
  return experiment;
}

}  // namespace tamis::lab::experiments
