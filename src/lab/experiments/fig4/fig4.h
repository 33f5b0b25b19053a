// What the points and the report of the `fig4` sweep share.
#pragma once

#include <vector>

#include "lab/experiments/experiment.h"

namespace tamis::lab::experiments {

SweepReport fig4_report(const GridRequest& request, const std::vector<DonePoint>& done);

}  // namespace tamis::lab::experiments
