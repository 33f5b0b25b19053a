// Finds weak witnesses whose queries and keys share x, dim ≤ d_hid < 2·dim, by descent from random
// starts. A failure proves nothing.
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
  std::int64_t starts = 256;  ///< most starts; the clock may end the search before
  int threads = 1;            ///< 0: every core; starts run in parallel
};

/// Returns a witness {x [n, hidden], w_q and w_k [hidden, dim]} that holds under weak conditions,
/// in f32 where that verifies, else in f64; nothing if no start found one. The first successful
/// start by number is taken, so the bits depend on pattern and options alone, unless the clock cuts
/// the search short.
///
/// A start takes 250 to 16,000 steps (1,000 on average) of at most 6·n²·dim flops. Planted patterns
/// took 0.04 ms at n = 4, 20 ms at n = 24 and 2 s at n = 100 and dim 3, on two cores. Memory: 8·n²
/// bytes per thread. Throws `input` unless the pattern is square, `usage` unless the sizes are as
/// above. Only the calling thread reads the clock.
std::optional<realisation::Sealed> shared_witness(const Pattern& pattern,
                                                  const SharedOptions& options, Clock::Part& clock);

}  // namespace tamis::lab::decision
