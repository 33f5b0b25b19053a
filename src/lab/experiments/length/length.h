// Declarations shared by the points and the report of the `length` sweep.
#pragma once

#include <array>
#include <vector>

#include "lab/experiments/rules.h"

namespace tamis::lab::experiments {

/// The members of a rule's result. Each is an array: over all rows, the first half,
/// the second half.
inline constexpr std::array<const char*, 4> length_measures{"tau_mean", "tau_p90", "error_mean",
                                                            "error_p90"};

/// The rules for the heaviest keys, then those for windows. Each list has the fixed number, then
/// alpha·n^C for every C of the parameters.
std::vector<Rule> length_rules(const Json& parameters);

SweepReport length_report(const GridRequest& request, const std::vector<DonePoint>& done);

}  // namespace tamis::lab::experiments
