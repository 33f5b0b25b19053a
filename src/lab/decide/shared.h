// Weak witnesses whose queries and keys share x, d ≤ d_hid < 2d: found by descent from random
// starts, or not found, which proves nothing.
#pragma once

#include <cstdint>
#include <optional>

#include <tamis/lab/pattern.h>
#include "lab/decide/clock.h"
#include "lab/realise/seal.h"

namespace tamis::lab::decision {

struct SharedOptions {
  std::int64_t dim = 0;
  std::int64_t hidden = 0;  ///< dim ≤ hidden < 2·dim
  std::uint64_t seed = 0;
  std::int64_t starts = 256;  ///< given up after so many, or when the clock is over
  int threads = 1;            ///< 0: every core; starts run side by side
};

/// A witness {x [n, hidden], w_q and w_k [hidden, dim]} that holds under weak conditions, f32 where
/// that verifies, else f64; nothing if no start found one. The first start that succeeds is taken,
/// so the bits depend on pattern and options alone, but for what the clock cuts short.
///
/// A start costs 250 to 16,000 steps (1,000 on average) of 6·n²·dim flops at most. Planted patterns
/// took 0.04 ms at n = 4, 20 ms at n = 24, 2 s at n = 100 and dim 3, on two cores. Memory: 8·n²
/// bytes per thread. Throws `input` unless the pattern is square, `usage` unless the sizes are as
/// above. The clock is read by the calling thread alone.
std::optional<realisation::Sealed> shared_witness(const Pattern& pattern,
                                                  const SharedOptions& options, Clock::Part& clock);

}  // namespace tamis::lab::decision
