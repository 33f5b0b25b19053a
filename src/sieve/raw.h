// Exact attention over the tokens that a sequence keeps as they were appended: sinks, tokens that
// no code can hold, and those of the block that is not full yet. Costs rows·tokens·(d + d_v)
// multiply-adds; reads each raw key and value that some row sees once.
#pragma once

#include <array>
#include <cstdint>

#include "sieve/problem.h"

namespace tamis::sieve {

/// What the raw tokens add up to.
struct RawResult {
  /// Reference: an integer near the row's largest raw logit, 0 if it sees none. `product` leaves
  /// out spread·‖output‖, which who knows the output adds.
  std::array<Partial, most_rows> row{};
  /// False where a logit or a sum of values leaves the range of f32; row and output are 0 then.
  std::array<bool, most_rows> finite{};
  std::int64_t keys = 0;  ///< raw tokens that some row sees: read as keys and as values
  double value_norm = 0;  ///< the largest ‖v‖ of them, at least
  double roundings = 0;   ///< that a term of `out` meets, at most
};

/// Floats of scratch.
std::int64_t raw_scratch(const Problem& problem);
/// out: rows × value_d32 floats in the order of channels, Σ ê·v relative to 2^reference.
RawResult attend_raw(const Problem& problem, float* scratch, float* out);

}  // namespace tamis::sieve
