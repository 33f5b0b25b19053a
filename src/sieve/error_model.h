// Every constant of docs/certificates.md, as pure functions. Logits and widths are exponents
// of 2 (octaves); u is the unit roundoff of f32. Unless a comment says otherwise, results
// are upper bounds.
#pragma once

#include <array>
#include <cmath>
#include <cstdint>

#include "attention/rounding.h"
#include "cache/block.h"

namespace tamis::sieve {

using attention::gamma;
using attention::unit_roundoff;
inline constexpr double log_2 = 0.6931471805599454;  // rounded up

/// Returns an upper bound on e^y − 1 that is at most .02 % above it; y ≥ 0.
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

/// The number of consecutive roundings in a sum over the channels of a key, computed in vectors of
/// `lanes` floats.
inline double channel_chain(std::int64_t d32, int lanes) {
  return static_cast<double>(d32) / lanes + 8;
}

/// A query folded with the steps of a block: x = q'·t channel by channel, rounded to integer
/// multiples of `step`.
struct FoldedNorms {
  double query;      ///< bounds ‖q'‖
  double x;          ///< ‖x‖ as computed in f32
  double step;       ///< spacing of the rounded x
  double reference;  ///< the integer that is subtracted from logits
};

/// The error bounds (widths) of the estimated logits of a block's keys, derived in
/// docs/certificates.md, section "Widths".
struct Widths {
  double x;       ///< bounds ‖x‖
  double common;  ///< the part of the width that is the same at every level

  [[nodiscard]] double at(const cache::BlockHead& head, int level) const {
    return x * static_cast<double>(head.key_missing[static_cast<std::size_t>(level)]) + common;
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

/// The number of roundings that a term undergoes on its way into a sum over the keys of a row.
inline double sum_chain(std::int64_t spans, std::int64_t raw_keys) {
  return 320 + 2 * static_cast<double>(spans) + static_cast<double>(raw_keys) / 64;
}
/// The width in octaves from which a block is not read sparsely, at any level. It limits what is
/// lost by underflow.
inline constexpr double widest = 20;
/// Bounds what a weight too small for f32 may lose, per key and relative to its span's reference.
/// See docs/certificates.md, section "What vanishes".
inline constexpr double vanished_per_key = 0x1p-88;

// The functions from here on are for keys and values that are read as they were appended, or from
// all stored planes.

/// The error in octaves of the weight of a key that is read as it was appended. It covers the dot
/// product, the difference to an integer reference, the exponential, and products and channels of
/// the query that underflow.
inline double exact_octaves(double chain, std::int64_t dim, double query_norm, double key_norm) {
  const auto d = static_cast<double>(dim);
  return unit_roundoff * ((chain + 3) * query_norm * key_norm + 132) +
         0x1p-148 * (d + std::sqrt(d) * key_norm);
}

/// Returns 2^octaves − 1, rounded up.
inline double relative(double octaves) { return excess(log_2 * octaves); }

/// Bounds the weight, relative to the reference, of a key for which the exponential of the exact
/// kernels returns 0, if the computed weights are off by less than an octave.
inline constexpr double vanished_weight = 0x1p-125;

/// Bounds a norm of `dim` channels from its sum of squares as computed in f32.
inline double norm_above(float squares, std::int64_t dim) {
  return std::sqrt(static_cast<double>(squares)) *
             (1 + (static_cast<double>(dim) + 16) * unit_roundoff) +
         0x1p-69;
}

/// The error in octaves of the logit of a key that was decoded from all `levels` planes. `folded`
/// is ‖Dq′‖ with D the diagonal matrix of the block's steps.
inline double stored_octaves(const cache::BlockHead& head, int levels, double folded,
                             double query_norm, double key_norm, std::int64_t dim) {
  const auto missing = static_cast<double>(head.key_missing[static_cast<std::size_t>(levels - 1)]);
  const double decoding =
      unit_roundoff * (1.01 * query_norm * key_norm + 2.02 * folded * head.reach) +
      0x1p-133 * std::sqrt(static_cast<double>(dim)) * query_norm;
  return (folded * missing + decoding) * (1 + 0x1p-40);
}

/// Bounds ‖v − v̂‖ for a value that was decoded from all `levels` planes; `value_norm` bounds ‖v̂‖.
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

/// Bounds the total-variation distance of two distributions over keys whose logits differ by at
/// most `octaves` for every key.
inline double distance_of_octaves(double octaves) {
  return std::tanh(0.5 * log_2 * octaves) * (1 + 0x1p-40);
}

}  // namespace tamis::sieve
