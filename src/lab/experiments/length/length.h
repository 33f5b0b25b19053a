// What the two halves of the `length` sweep share.
#pragma once

#include <array>
#include <vector>

#include "lab/experiments/rules.h"

namespace tamis::lab::experiments {

/// Members of a rule's result, each for all rows and for either half.
inline constexpr std::array<const char*, 4> length_measures{"tau_mean", "tau_p90", "error_mean",
                                                            "error_p90"};

/// For the heaviest keys, then for windows: the fixed number, then alpha·n^C for every C of the
/// parameters.
std::vector<Rule> length_rules(const Json& parameters);

SweepReport length_report(const GridRequest& request, const std::vector<DonePoint>& done);

}  // namespace tamis::lab::experiments
