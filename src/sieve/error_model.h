// Every constant of docs/certificates.md, as pure functions. Logits and widths
// are exponents of 2; u is the unit roundoff of f32.
#pragma once

#include <array>
#include <cmath>
#include <cstdint>
#include <limits>

#include "attention/rounding.h"
#include "cache/block.h"

namespace tamis::sieve {

using attention::unit_roundoff;
inline constexpr double log_2 = 0.6931471805599454;  // rounded up

/// e^y − 1, at least, and at most .02 % above it; y ≥ 0.
inline double excess(double y) {
  if (y < 0.25)
    return y * (1 + y * (0.5 + 0.178 * y)) * (1 + 0x1p-45);  // y³/6 + y⁴/24 + … ≤ .178·y³
  if (!(y < 8)) return std::expm1(y) * (1 + 0x1p-40);
  // e^z ≤ 1 + z + z²/2 + .19·z³ up to z = ½, then four squarings.
  const double z = y / 16;
  double less_one = z * (1 + z * (0.5 + 0.19 * z));
  for (int i = 0; i < 4; ++i) less_one = less_one * (2 + less_one);  // (1 + x)² − 1
  return less_one * (1 + 0x1p-45);
}

/// Roundings in a row in a sum over the channels of a key, by vectors of `lanes` floats.
inline double channel_chain(std::int64_t d32, int lanes) {
  return static_cast<double>(d32) / lanes + 8;
}

/// What a query folded with a block's steps says about its rounding: x = q'·t, rounded to
/// step·integers.
struct FoldedNorms {
  double query;      ///< ‖q'‖, at least
  double x;          ///< ‖x‖ as computed in f32
  double step;       ///< of the integers
  double reference;  ///< the integer that is subtracted from logits
};

/// How far estimates of the logits of a block's keys may be off; see docs/certificates.md,
/// "Widths".
struct Widths {
  double x;         ///< ‖x‖, at least
  double at_least;  ///< at any level

  [[nodiscard]] double at(const cache::BlockHead& head, int level) const {
    return x * static_cast<double>(head.key_missing[static_cast<std::size_t>(level)]) + at_least;
  }
};
inline Widths widths(const cache::BlockHead& head, const FoldedNorms& folded, double root_d,
                     double chain) {
  const double x = folded.x * (1 + chain * unit_roundoff) + 0x1p-70;
  const double arithmetic =
      unit_roundoff * ((chain + 9) * folded.query * static_cast<double>(head.centre_norm) +
                       142 * root_d * x + 4 * std::abs(folded.reference) + 112);
  const double integers = 0.504 * folded.step * root_d * static_cast<double>(head.reach);
  return {x, integers + arithmetic};
}

/// Roundings that a term meets on its way into a sum over the keys of a row.
inline double sum_chain(std::int64_t spans, std::int64_t raw_keys) {
  return 320 + 2 * static_cast<double>(spans) + static_cast<double>(raw_keys) / 64;
}
/// γ_k = k·u/(1 − k·u): what k roundings in a row may change a number by, as a share of it.
inline double gamma(double chain) {
  const double x = chain * unit_roundoff;
  return x < 1 ? x / (1 - x) : std::numeric_limits<double>::infinity();
}
/// Octaves that estimates of any level may be off by, so that what underflows stays small.
inline constexpr double widest = 20;
/// What a weight that is too small for f32 may lose, per key and relative to its span's reference;
/// see "What vanishes".
inline constexpr double vanished_per_key = 0x1p-88;

// ---- Keys and values read as they were appended, and everything that is stored ----

/// Octaves by which the weight of a key read as it was appended may be off: the dot product, the
/// difference to an integer reference, the exponential; products and channels of the query that
/// underflow.
inline double exact_octaves(double chain, std::int64_t dim, double query_norm, double key_norm) {
  const auto d = static_cast<double>(dim);
  return unit_roundoff * ((chain + 3) * query_norm * key_norm + 132) +
         0x1p-148 * (d + std::sqrt(d) * key_norm);
}

/// 2^octaves − 1, rounded up.
inline double relative(double octaves) { return excess(log_2 * octaves); }

/// What a key whose weight the exponential of the exact kernels makes 0 had at most, relative to
/// the reference, for weights that are off by less than an octave.
inline constexpr double vanished_weight = 0x1p-125;

/// √squares, where they were summed in f32 over d channels: at least the norm whose squares they
/// are.
inline double norm_above(float squares, std::int64_t dim) {
  return std::sqrt(static_cast<double>(squares)) *
             (1 + (static_cast<double>(dim) + 16) * unit_roundoff) +
         0x1p-69;
}

/// Octaves by which what a block stores of a key may move its logit. `folded` is ‖Dq′‖, D the
/// block's steps.
inline double stored_octaves(const cache::BlockHead& head, int levels, double folded,
                             double query_norm, double key_norm, std::int64_t dim) {
  const auto missing = static_cast<double>(head.key_missing[static_cast<std::size_t>(levels - 1)]);
  const double decoding =
      unit_roundoff * (1.01 * query_norm * key_norm + 2.02 * folded * head.reach) +
      0x1p-133 * std::sqrt(static_cast<double>(dim)) * query_norm;
  return (folded * missing + decoding) * (1 + 0x1p-40);
}

/// ‖v − v̂‖ of a value that was decoded, at most; `value_norm` is at least ‖v̂‖.
inline double stored_missing(const cache::BlockHead& head, int levels, double value_norm,
                             std::int64_t dim) {
  const auto missing =
      static_cast<double>(head.value_missing[static_cast<std::size_t>(levels - 1)]);
  const double decoding =
      unit_roundoff *
          (1.01 * value_norm + 2.02 * (static_cast<double>(head.value_radius) + missing)) +
      0x1p-133 * std::sqrt(static_cast<double>(dim));
  return (missing + decoding) * (1 + 0x1p-40);
}

/// How far apart two distributions are at most whose logits differ by at most so many octaves, key
/// by key.
inline double distance_of_octaves(double octaves) {
  return std::tanh(0.5 * log_2 * octaves) * (1 + 0x1p-40);
}

}  // namespace tamis::sieve
