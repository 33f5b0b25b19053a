// The waterline: for each row one threshold on what a key leaves uncertain, and one on what a value
// may add to the error. Keys and values are read to the least level at which they are below.
// Whatever the thresholds, certificates hold: only what they cost and reach is decided here.
#pragma once

#include <algorithm>
#include <cmath>

#include "sieve/look.h"

namespace tamis::sieve {

/// Relative to 2^reference of the row. A threshold of 0: everything to its last level.
struct Waterline {
  std::array<double, most_rows> reference{};
  std::array<double, most_rows> key{};
  std::array<double, most_rows> value{};
};

/// A threshold of a row in the units of a span.
inline float in_span(const Waterline& line, const Look& look, std::int64_t span, int r,
                     double threshold) {
  const double octaves = line.reference[static_cast<std::size_t>(r)] - look.reference_of(span, r);
  return static_cast<float>(std::min(threshold * std::exp2(std::min(octaves, 1000.0)), 0x1p126));
}

/// The weight above which something that leaves `per_weight` for a weight of 1 is above a
/// threshold; what leaves nothing never is.
inline float weight_at(float threshold, float per_weight) {
  return per_weight > 0 ? std::min(threshold / std::max(per_weight, 0x1p-100F), 0x1p126F)
                        : 0x1p126F;
}

/// What a row's estimates and raw tokens add up to before anything is sharpened.
struct Expected {
  double reference = 0;  ///< of the row: the largest of its parts
  double used = 0;       ///< Σ ê
  double spread = 0;     ///< Σ δ at the level of the look
  double distance = 0;  ///< Σ ê·ρ: ρ the mean over blocks of their values' distance from their mean
};
std::array<Expected, most_rows> expected_of(const Problem& problem, const Look& look,
                                            std::span<const Partial> raw);

/// For budgets of mass: such that the uncertainty that is expected to remain is share[r]·eps of Σ
/// ê, and that values add value_share·eps to the error, relative to their distance from their mean,
/// on average over blocks.
Waterline waterline_for_mass(const Problem& problem, const Look& look, std::span<const Partial> raw,
                             std::span<const double> share, float* scratch);
std::int64_t waterline_scratch(const Problem& problem);

/// For budgets of bytes: one threshold, relative to each row's Σ ê, such that the planes of keys
/// and values that are expected to be read after the look take at most `bytes`.
Waterline waterline_for_bytes(const Problem& problem, const Look& look,
                              std::span<const Partial> raw, double bytes);

}  // namespace tamis::sieve
