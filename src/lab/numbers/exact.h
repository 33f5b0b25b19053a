// Exact arithmetic on floats, so that verification trusts no rounding: floats are dyadic rationals,
// sums and products of them are exact in GMP, and logarithms of rationals are enclosed by MPFR.
// Exact values cost tens of nanoseconds per product; the enclosures cost a few and decide almost
// every comparison.
//
// With Q, K given as floats and L_ij = q_i·k_j (MATHEMATICS: realising a sparse pattern),
//   (23)  L_ij₁ − L_ij₂ < log ε₁        whenever A_ij₁ = 0 and A_ij₂ ≠ 0
//   (24)  |L_ij₁ − L_ij₂ − log(A_ij₁/A_ij₂)| < ε₂        whenever both are nonzero
// become, exactly,
//   const Dyadic gap = exact_dot(q_i, k_j1) - exact_dot(q_i, k_j2);
//   (23)  compare_with_log(gap, eps1.rational()) < 0
//   (24)  compare_with_log(gap - eps2, ratio) < 0 && compare_with_log(gap + eps2, ratio) > 0
// where eps1, eps2 are Dyadic and ratio = Dyadic(a_j1).rational() / Dyadic(a_j2).rational().
// For n² pairs, ask the enclosures first and the exact forms only where those do not separate:
//   const Interval gap = enclose_dot(q_i, k_j1) - enclose_dot(q_i, k_j2);
//   (23)  holds if gap < enclose_log(ε₁), fails if gap > enclose_log(ε₁)
//   (24)  holds if gap - enclose_log(ratio) lies inside (−ε₂, ε₂), fails if it lies outside
//
// Everything here is a pure function and may be called from many threads. MPFR keeps constants per
// thread; they are freed when the thread ends.
#pragma once

#include <gmpxx.h>

#include <compare>
#include <cstdint>
#include <span>

namespace tamis::lab::numbers {

enum class Round { down, up, nearest };

/// mantissa · 2^exponent, of any size. Copies allocate; results are normalised (odd mantissa, or
/// zero).
class Dyadic {
 public:
  Dyadic() = default;
  /// Exact. Throws `input` for NaN and infinity.
  explicit Dyadic(double value);
  /// Throws `usage` if the value has a bit outside 2^±max_exponent.
  Dyadic(mpz_class mantissa, std::int64_t exponent);

  /// Far beyond products of doubles (2^±2200), and small enough that no sum can exhaust memory.
  static constexpr std::int64_t max_exponent = std::int64_t{1} << 24;

  [[nodiscard]] const mpz_class& mantissa() const { return mantissa_; }
  [[nodiscard]] std::int64_t exponent() const { return exponent_; }
  [[nodiscard]] int sign() const { return sgn(mantissa_); }
  [[nodiscard]] mpq_class rational() const;
  /// Correctly rounded, denormals included. Beyond the largest double: infinity, or the largest
  /// double where the rounding points back towards zero.
  [[nodiscard]] double to_double(Round round) const;

  friend Dyadic operator-(const Dyadic& a);
  friend Dyadic operator+(const Dyadic& a, const Dyadic& b);
  friend Dyadic operator-(const Dyadic& a, const Dyadic& b);
  friend Dyadic operator*(const Dyadic& a, const Dyadic& b);
  friend std::strong_ordering operator<=>(const Dyadic& a, const Dyadic& b);
  friend bool operator==(const Dyadic& a, const Dyadic& b) {
    return a.exponent_ == b.exponent_ && a.mantissa_ == b.mantissa_;
  }

 private:
  mpz_class mantissa_;
  std::int64_t exponent_ = 0;  // 0 if the value is 0
};

/// Σ x_i·y_i, exactly. Throws `usage` if the lengths differ, `input` for NaN and infinity.
/// One multiplication, shift and addition in GMP per element; a few allocations per call.
Dyadic exact_dot(std::span<const double> x, std::span<const double> y);
Dyadic exact_dot(std::span<const float> x, std::span<const float> y);

/// A real number known to lie in lo ≤ value ≤ hi. An end is infinite where doubles end.
struct Interval {
  double lo = 0;
  double hi = 0;

  [[nodiscard]] bool contains(double value) const { return lo <= value && value <= hi; }
  /// Every value of a lies below, or above, every value of b; neither if they touch.
  friend bool operator<(const Interval& a, const Interval& b) { return a.hi < b.lo; }
  friend bool operator>(const Interval& a, const Interval& b) { return a.lo > b.hi; }
  /// Rounded outwards.
  friend Interval operator-(const Interval& a, const Interval& b);
};

/// Contains Σ x_i·y_i. Compensated f64 arithmetic with an a-posteriori error bound (derived in
/// exact.cpp): two or three units in the last place wide unless the sum cancels by more than
/// 2^53/n. About 20 flops per element, no allocation. Where f64 overflows, or the thread runs with
/// a rounding mode or flushing of denormals that voids the bound, it encloses `exact_dot` instead.
/// Throws as that.
Interval enclose_dot(std::span<const double> x, std::span<const double> y);
Interval enclose_dot(std::span<const float> x, std::span<const float> y);

/// Contains log x, at most two neighbouring doubles wide (one double if x = 1). Throws `usage`
/// unless x > 0. A few microseconds.
Interval enclose_log(const mpq_class& x);

/// lhs against log x, decided: the enclosure of log x is refined until lhs lies outside it, which
/// ends because the logarithm of a positive rational other than 1 is irrational; log 1 = 0 is
/// compared as such. Throws `usage` unless x > 0. Microseconds, unless lhs agrees with log x to
/// thousands of bits.
std::strong_ordering compare_with_log(const Dyadic& lhs, const mpq_class& x);

}  // namespace tamis::lab::numbers
