// Declarations shared by the points and the report of the `window` sweep.
#pragma once

#include <vector>

#include "lab/experiments/rules.h"

namespace tamis::lab::experiments {

/// The rules of a point, from its parameters. All read `keys` keys at n = `middle`.
std::vector<Rule> window_rules(const Json& parameters);

SweepReport window_report(const GridRequest& request, const std::vector<DonePoint>& done);

}  // namespace tamis::lab::experiments
