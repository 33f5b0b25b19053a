// What the points and the report of the `violation` sweep share.
#pragma once

#include <array>
#include <string_view>
#include <vector>

#include "lab/experiments/experiment.h"
#include "lab/experiments/synthetic_heads.h"

namespace tamis::lab::experiments {

struct Dial {
  std::string_view name;
  double Synthetic::*place = nullptr;
};
const std::array<Dial, 4>& dials();
/// The dial name of points where all dials are at 0.
inline constexpr std::string_view no_dial = "none";

SweepReport violation_report(const GridRequest& request, const std::vector<DonePoint>& done);

}  // namespace tamis::lab::experiments
