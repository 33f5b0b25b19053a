// Chooses the waterline: for each row one threshold on the uncertainty δ of a key, and one on what
// a value may add to the error. Keys and values are read to the lowest level at which they are not
// above it. Certificates hold for any thresholds; these decide only how much is read and how small
// the bounds are.
#pragma once

#include <algorithm>
#include <cmath>

#include "sieve/look.h"

namespace tamis::sieve {

/// The thresholds of each row, relative to 2^reference of the row. With a threshold of 0 everything
/// is read to its last level.
struct Waterline {
  std::array<double, most_rows> reference{};
  std::array<double, most_rows> key{};
  std::array<double, most_rows> value{};
};

/// Converts a threshold of row r to the units of a span.
inline float in_span(const Waterline& line, const Look& look, std::int64_t span, int r,
                     double threshold) {
  const double octaves = line.reference[static_cast<std::size_t>(r)] - look.reference_of(span, r);
  return static_cast<float>(std::min(threshold * std::exp2(std::min(octaves, 1000.0)), 0x1p126));
}

/// Returns the weight w at which w·per_weight reaches `threshold`. If per_weight is 0 or less, no
/// weight does, and the result is larger than any weight.
inline float weight_at(float threshold, float per_weight) {
  return per_weight > 0 ? std::min(threshold / std::max(per_weight, 0x1p-100F), 0x1p126F)
                        : 0x1p126F;
}

/// Sums of a row over its estimates and raw tokens before anything is sharpened.
struct Expected {
  double reference = 0;  ///< the largest reference of the raw tokens and the spans
  double used = 0;       ///< Σ ê
  double distance = 0;   ///< ρ·Σ ê, where ρ is the mean of LookedValues::spread over blocks
};
std::array<Expected, most_rows> expected_of(const Problem& problem, const Look& look,
                                            std::span<const Partial> raw);

/// Chooses the waterline for budgets of mass. The uncertainty Σ δ that is expected to remain for
/// row r is at most share[r]·eps·Σ ê, and values are expected to add at most value_share·eps·ρ to
/// the error, with ρ as in Expected.
Waterline waterline_for_mass(const Problem& problem, const Look& look, std::span<const Partial> raw,
                             std::span<const double> share, float* scratch);
/// Floats of scratch memory that waterline_for_mass() needs.
std::int64_t waterline_scratch(const Problem& problem);

/// Chooses the waterline for budgets of bytes: one threshold, relative to each row's Σ ê, such that
/// the planes of keys and values that are expected to be read after the look take at most `bytes`.
Waterline waterline_for_bytes(const Problem& problem, const Look& look,
                              std::span<const Partial> raw, double bytes);

}  // namespace tamis::sieve
