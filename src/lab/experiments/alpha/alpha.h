// Declarations shared by the points and the report of the `alpha` sweep.
#pragma once

#include <vector>

#include "lab/experiments/rules.h"

namespace tamis::lab::experiments {

/// The rules in the order of a result: conformal ones first, then simple rules with
/// a hand-chosen alpha.
inline constexpr std::size_t conformal_rules = 2;
std::vector<std::string> alpha_rule_names(const Json& parameters);

SweepReport alpha_report(const GridRequest& request, const std::vector<DonePoint>& done);

}  // namespace tamis::lab::experiments
