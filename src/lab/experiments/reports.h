// The reports of experiments whose points and reports are in separate files.
#pragma once

#include "lab/experiments/experiment.h"

namespace tamis::lab::experiments {

SweepReport fig3_report(const GridRequest& request, const std::vector<DonePoint>& done);
SweepReport norm_report(const GridRequest& request, const std::vector<DonePoint>& done);
SweepReport violation_report(const GridRequest& request, const std::vector<DonePoint>& done);
SweepReport collapse_report(const GridRequest& request, const std::vector<DonePoint>& done);

}  // namespace tamis::lab::experiments
