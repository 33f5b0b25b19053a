// What every bound on rounding in this library is made of. docs/rounding.md derives the constants.
#pragma once

#include <cmath>
#include <limits>
#include <span>

namespace tamis::attention {

/// The unit roundoff of f32: an operation errs by at most this share of its result.
inline constexpr double unit_roundoff = 0x1p-24;

/// γ_k = k·u/(1 − k·u), an upper bound on (1 + u)^k − 1: the largest relative change of a number by
/// k consecutive roundings. Infinite from k = 2²⁴ on.
inline double gamma(double k) {
  const double x = k * unit_roundoff;
  return x < 1 ? x / (1 - x) : std::numeric_limits<double>::infinity();
}

/// log₂ e to nearest, by which logits are multiplied once so that weights are powers of 2.
inline constexpr double log2_e = 1.4426950408889634;
/// The least double above log₂ e.
inline constexpr double log2_e_above = 1.4426950408889636;

/// An upper bound on the square root of a sum of squares that was computed in f64 from at most 2¹⁰
/// floats: the sum errs by less than 2⁻⁴², its root by half of that plus one rounding.
inline double root_above(double squares) { return std::sqrt(squares) * (1 + 0x1p-40); }

/// An upper bound on ‖x‖₂ of at most 2¹⁰ floats, whose squares never leave the range of f64.
inline double norm_above(std::span<const float> x) {
  double squares = 0;
  for (const float value : x) squares += static_cast<double>(value) * static_cast<double>(value);
  return root_above(squares);
}

}  // namespace tamis::attention
