// The points of Figures 3 and 4: one random pattern, and d_min by a search or from a curve.
#pragma once

#include <tamis/lab/dmin.h>

#include "lab/experiments/experiment.h"

namespace tamis::lab::experiments {

/// What the points of one setup share.
struct PatternSetup {
  std::int64_t k = 1;
  double gamma = 1;
  double eps1 = 0.5;
  double eps2 = 1;
  auto operator<=>(const PatternSetup&) const = default;
};
/// Every combination of the axes k, gamma, eps1 and eps2. With k = 1 a row has one nonzero,
/// whatever γ: γ is then 1, once.
std::vector<PatternSetup> setups_of(const GridRequest& request);
PatternSetup setup_of(const Json& parameters);
/// The element of `all` whose `setup` this is, added if there is none.
template <class T>
T& of_setup(std::vector<T>& all, const PatternSetup& setup) {
  for (T& each : all)
    if (each.setup == setup) return each;
  all.emplace_back().setup = setup;
  return all.back();
}
/// "k 2, gamma 1, eps1 0.5".
std::string name_of(const PatternSetup& setup);

/// Throws `usage` unless the axis step is even, and Q means a draw at every n.
void check_search(const GridRequest& request, double Q);

/// A search for d_min, as the paper does it: n redraws for every d, times Q.
GridPoint search_point(const GridRequest& request, const PatternSetup& setup, std::int64_t n,
                       double Q, std::int64_t matrix);
/// p(d) as a curve, which holds for every Q.
GridPoint curve_point(const GridRequest& request, const PatternSetup& setup, std::int64_t n,
                      std::int64_t matrix);
DminProblem pattern_problem(const Json& parameters);
bool is_search(const Json& parameters);
/// Either. A search gives {d_min, draws, at_d_min}, a curve {a, b, var_a, var_b, cov_ab, deviance,
/// degrees, p_value, counts: [[d, draws, accepted], …]}.
Json compute_pattern_point(const Json& parameters, const Scene& scene);
AcceptanceFit curve_of(const DonePoint& point);

/// The axes that both figures have.
std::vector<SweepAxis> pattern_axes();

}  // namespace tamis::lab::experiments
