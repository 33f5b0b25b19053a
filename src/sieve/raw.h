// Exact attention over the raw tokens of a sequence, which are kept as they were appended: sinks,
// tokens with numbers too large to be coded, and the tokens after the last coded block. Costs
// rows·tokens·(d + d_v) multiply-adds and reads each raw key and value that some row sees once.
#pragma once

#include <array>
#include <cstdint>

#include "sieve/problem.h"

namespace tamis::sieve {

/// Sums over the raw tokens.
struct RawResult {
  /// The reference of a row is an integer near its largest raw logit, or 0 if it sees no raw token.
  /// `product` lacks spread·‖output‖, which certify() adds.
  std::array<Partial, most_rows> row{};
  /// False if a logit or a sum of values leaves the range of f32. Row and output are 0 then.
  std::array<bool, most_rows> finite{};
  std::int64_t keys = 0;  ///< number of raw tokens that some row sees; keys and values are read
  double value_norm = 0;  ///< bounds ‖v‖ of these tokens
  double roundings = 0;   ///< bounds the number of roundings of a term of `out`
};

/// Floats of scratch memory that attend_raw() needs.
std::int64_t raw_scratch(const Problem& problem);
/// Writes Σ ê·v relative to 2^reference to `out`, rows × value_d32 floats in the order of channels.
RawResult attend_raw(const Problem& problem, float* scratch, float* out);

}  // namespace tamis::sieve
