// What the points and the report of the `frontier` sweep share.
#pragma once

#include <vector>

#include "lab/experiments/experiment.h"

namespace tamis::lab::experiments {

SweepReport frontier_report(const GridRequest& request, const std::vector<DonePoint>& done);

}  // namespace tamis::lab::experiments
