// Lower bounds by the spectral norm (Forster), with weights: patterns whose signs look like noise.
#pragma once

#include <cstdint>
#include <optional>

#include "lab/decide/clock.h"
#include "lab/decide/sign_matrix.h"

namespace tamis::lab::decision {

/// Weights under which the bound is as large as found, rounded to whole numbers, and the sign-rank
/// they promise, not yet proved. Nothing if the smaller side has more than 2048 elements. Each
/// round multiplies by the matrix a few dozen times; rounds end with the clock, or when weights
/// bring no more.
struct SpectralBound {
  Spectral weights;
  double sign_rank = 0;
};
std::optional<SpectralBound> spectral_bound(const SignMatrix& signs, Clock::Part& clock);

}  // namespace tamis::lab::decision
