// Lower bounds by sets that are cut in every way (Radon, Vapnik and Chervonenkis): if every one of
// the 2^(c−1) splits of c elements is cut out, no c vectors of fewer than c dimensions do.
#pragma once

#include <cstdint>
#include <optional>

#include "lab/decide/clock.h"
#include "lab/decide/sign_matrix.h"

namespace tamis::lab::decision {

struct FullSetSearch {
  std::optional<FullSet> found;  ///< in rows and columns of the pattern
  bool complete = false;         ///< nothing was found and nothing is there
};

/// A full set of `size` ≥ 2 elements of one side. Depth-first with bounds on how many cuts each
/// class of cuts must hold; exponential at worst, until the clock is over. 2^(size−2)·cuts/4 bytes;
/// sets that would take more than 2^28 are not looked for.
FullSetSearch find_full_set(const SignMatrix& signs, const Side& side, std::int64_t size,
                            Clock::Part& clock);

}  // namespace tamis::lab::decision
