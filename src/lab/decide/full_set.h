// Lower bounds by full sets, which are cut in every way (Radon, Vapnik and Chervonenkis). If every
// one of the 2^(c−1) splits of c elements is made by some cut, then vectors of fewer than c
// dimensions cannot produce the signs. An element is a column and a cut a row, or the other way
// round.
#pragma once

#include <cstdint>
#include <optional>

#include "lab/decide/clock.h"
#include "lab/decide/sign_matrix.h"

namespace tamis::lab::decision {

struct FullSetSearch {
  std::optional<FullSet> found;  ///< with the pattern's numbers of rows and columns
  bool complete = false;         ///< nothing was found, and none exists
};

/// Looks for a full set of `size` ≥ 2 elements of one side. The search is depth-first, with bounds
/// on how many cuts each class must hold; it is exponential at worst and stops with the clock.
/// Memory: about 2^(size−2)·cuts/2 bytes. Sets that would take more than 2^30 bytes are not looked
/// for.
FullSetSearch find_full_set(const SignMatrix& signs, const Side& side, std::int64_t size,
                            Clock::Part& clock);

}  // namespace tamis::lab::decision
