// The grid of d, which is the paper's d = 2m, and the number of draws for each d, shared by all of
// dmin.
#pragma once

#include <cmath>
#include <cstdint>

#include "core/fail.h"

namespace tamis::lab::dmin {

/// The values d = first, first + step, … up to 2n, all even.
struct DminGrid {
  std::int64_t first = 0;
  std::int64_t step = 0;
  std::int64_t last = 0;
  [[nodiscard]] std::int64_t size() const { return last < first ? 0 : (last - first) / step + 1; }
  [[nodiscard]] std::int64_t at(std::int64_t i) const { return first + i * step; }
};

/// The grid that starts at `from` (0: at the step). Throws `usage` if the step is odd or outside 2
/// … 2n, or if `from` is not a multiple of it up to 2n.
inline DminGrid dmin_grid(std::int64_t n, std::int64_t step, std::int64_t from) {
  if (step < 2 || step % 2 != 0 || step > 2 * n)
    core::fail(Code::usage, "the step of d is {}; it must be even, at least 2 and at most 2n = {}",
               step, 2 * n);
  const std::int64_t first = from == 0 ? step : from;
  if (first < step || first % step != 0 || first > 2 * n)
    core::fail(Code::usage,
               "d starts from {}; that must be a multiple of the step {} and at most 2n = {}",
               first, step, 2 * n);
  return {first, step, 2 * n};
}

/// The number of draws for each d, round(Q·n). Throws `usage` unless Q is positive and the number
/// is from 1 to 2^40 − 1.
inline std::int64_t draws_of(double Q, std::int64_t n) {
  const double draws = std::round(Q * static_cast<double>(n));
  if (!(Q > 0) || !(draws >= 1) || !(draws < 0x1p40))
    core::fail(Code::usage,
               "Q is {}; it must be positive, and Q·n = {} draws at least 1 and below 2^40", Q,
               draws);
  return static_cast<std::int64_t>(draws);
}

}  // namespace tamis::lab::dmin
