// What the two halves of the `window` sweep share: its rules, its result and its report.
#pragma once

#include <vector>

#include "lab/experiments/rules.h"

namespace tamis::lab::experiments {

/// The rules of a point, from its parameters: all read `keys` keys at n = `middle`.
std::vector<Rule> window_rules(const Json& parameters);

SweepReport window_report(const GridRequest& request, const std::vector<DonePoint>& done);

}  // namespace tamis::lab::experiments
