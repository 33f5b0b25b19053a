// The dials of the sweep `violation`.
#pragma once

#include <array>
#include <string_view>

#include "experiments/synthetic.h"

namespace tamis {

struct Dial {
  std::string_view name;
  double Synthetic::*place = nullptr;
};
const std::array<Dial, 4>& dials();
/// Of points where all dials are at 0.
inline constexpr std::string_view no_dial = "none";

}  // namespace tamis
