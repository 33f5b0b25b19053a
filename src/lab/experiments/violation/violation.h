// The dials of the `violation` sweep.
#pragma once

#include <array>
#include <string_view>

#include "lab/experiments/synthetic_heads.h"

namespace tamis::lab::experiments {

struct Dial {
  std::string_view name;
  double Synthetic::*place = nullptr;
};
const std::array<Dial, 4>& dials();
/// The dial name of points where all dials are at 0.
inline constexpr std::string_view no_dial = "none";

}  // namespace tamis::lab::experiments
