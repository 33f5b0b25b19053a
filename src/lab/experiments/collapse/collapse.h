// The three figures of a row that "collapse" may mean.
#pragma once

#include <cstdint>
#include <vector>

#include "lab/experiments/experiment.h"

namespace tamis::lab::experiments {

enum class Figure : std::uint8_t { top1, support, first };
struct FigureName {
  Figure figure;
  const char* name;   ///< name in results
  const char* words;  ///< name in reports
  int collapsing;     ///< sign of its growth when attention collapses
};
const std::vector<FigureName>& figure_names();

SweepReport collapse_report(const GridRequest& request, const std::vector<DonePoint>& done);

}  // namespace tamis::lab::experiments
