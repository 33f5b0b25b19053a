// What the two halves of the `alpha` sweep share.
#pragma once

#include <vector>

#include "lab/experiments/rules.h"

namespace tamis::lab::experiments {

/// Rules in the order of a result: conformal ones first, then those that people would write down.
inline constexpr std::size_t conformal_rules = 2;
std::vector<std::string> alpha_rule_names(const Json& parameters);

SweepReport alpha_report(const GridRequest& request, const std::vector<DonePoint>& done);

}  // namespace tamis::lab::experiments
