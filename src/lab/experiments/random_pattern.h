// The points of Figures 3 and 4. Each takes one random pattern and finds the least d by a search or
// by fitting a curve p(d), the acceptance probability of a draw at dimension d.
#pragma once

#include <tamis/lab/dmin.h>

#include "lab/experiments/experiment.h"

namespace tamis::lab::experiments {

/// The parameters that the points of one setup have in common.
struct PatternSetup {
  std::int64_t k = 1;
  double gamma = 1;
  double eps1 = 0.5;
  double eps2 = 1;
  auto operator<=>(const PatternSetup&) const = default;
};
/// Returns every combination of the axes k, gamma, eps1 and eps2. With k = 1 a row has a single
/// nonzero, so γ has no effect; γ is then 1, and the combination appears once.
std::vector<PatternSetup> setups_of(const GridRequest& request);
PatternSetup setup_of(const Json& parameters);
/// Returns the element of `all` with this `setup`, which is added if there is none.
template <class T>
T& of_setup(std::vector<T>& all, const PatternSetup& setup) {
  for (T& each : all)
    if (each.setup == setup) return each;
  all.emplace_back().setup = setup;
  return all.back();
}
/// The name of a setup, such as "k 2, gamma 1, eps1 0.5".
std::string name_of(const PatternSetup& setup);

/// Throws `usage` unless the axis step is even and at most 2n, and Q gives at least one draw,
/// for every n.
void check_search(const GridRequest& request, double Q);

/// The point of a search for the least d as in the paper: Q·n draws for every d.
GridPoint search_point(const GridRequest& request, const PatternSetup& setup, std::int64_t n,
                       double Q, std::int64_t matrix);
/// The point of a curve p(d), which serves every Q.
GridPoint curve_point(const GridRequest& request, const PatternSetup& setup, std::int64_t n,
                      std::int64_t matrix);
DminProblem pattern_problem(const Json& parameters);
bool is_search(const Json& parameters);
/// Computes a point of either kind. A search gives {d, draws, at_d}, a curve {a, b, var_a,
/// var_b, cov_ab, deviance, degrees, p_value, counts: [[d, draws, accepted], …]}.
Json compute_pattern_point(const Json& parameters, const Scene& scene);
/// Reads the fit from the result of a point of a curve.
AcceptanceFit fit_of(const DonePoint& point);

/// The axes that both figures use.
std::vector<SweepAxis> pattern_axes();

}  // namespace tamis::lab::experiments
