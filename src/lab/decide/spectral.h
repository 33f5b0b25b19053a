// Lower bounds by the spectral norm (Forster), with weights. They are good for patterns whose signs
// look like noise.
#pragma once

#include <cstdint>
#include <optional>

#include "lab/decide/clock.h"
#include "lab/decide/sign_matrix.h"

namespace tamis::lab::decision {

/// Weights that make the bound as large as the search could, rounded to integers, and the sign-rank
/// that they promise, not yet proved. Nothing if the smaller side has more than 2048 elements or
/// the matrix is too large for the checker. Each round multiplies by the matrix a few dozen times;
/// the rounds end with the clock, or when the weights no longer improve.
struct SpectralBound {
  Spectral weights;
  double sign_rank = 0;
};
std::optional<SpectralBound> spectral_bound(const SignMatrix& signs, Clock::Part& clock);

}  // namespace tamis::lab::decision
