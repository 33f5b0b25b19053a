// Exact arithmetic on floats, so that verification does not depend on rounding. Floats are dyadic
// rationals: GMP computes their sums and products exactly, and MPFR encloses logarithms of
// rationals. Exact values cost tens of nanoseconds per product; the enclosures cost a few
// nanoseconds and decide almost every comparison.
//
// With Q, K given as floats and L_ij = q_i·k_j (docs/witness.md),
//   (23)  L_ij₁ − L_ij₂ < log ε₁        whenever A_ij₁ = 0 and A_ij₂ ≠ 0
//   (24)  |L_ij₁ − L_ij₂ − log(A_ij₁/A_ij₂)| < ε₂        whenever both are nonzero
// become, exactly,
//   const Dyadic gap = exact_dot(q_i, k_j1) - exact_dot(q_i, k_j2);
//   (23)  compare_with_log(gap, eps1.rational()) < 0
//   (24)  compare_with_log(gap - eps2, ratio) < 0 && compare_with_log(gap + eps2, ratio) > 0
// where eps1, eps2 are Dyadic and ratio = Dyadic(a_j1).rational() / Dyadic(a_j2).rational().
// For n² pairs, try the enclosures first, and use the exact forms only where these overlap:
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

/// A number mantissa · 2^exponent of any size. Copies allocate. Results are normalised: the
/// mantissa is odd or zero.
class Dyadic {
 public:
  Dyadic() = default;
  /// Exact. Throws `input` for NaN and infinity.
  explicit Dyadic(double value);
  /// Throws `usage` if the value has a bit outside 2^±max_exponent.
  Dyadic(mpz_class mantissa, std::int64_t exponent);

  /// Far beyond products of doubles (2^±2200), and so small that no sum can exhaust memory.
  static constexpr std::int64_t max_exponent = std::int64_t{1} << 24;

  [[nodiscard]] const mpz_class& mantissa() const { return mantissa_; }
  [[nodiscard]] std::int64_t exponent() const { return exponent_; }
  [[nodiscard]] int sign() const { return sgn(mantissa_); }
  [[nodiscard]] mpq_class rational() const;
  /// The correctly rounded value, denormals included. Beyond the largest double it is infinity, or
  /// the largest double where `round` is directed towards zero.
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

/// A real number known to lie in lo ≤ value ≤ hi. An end beyond the largest double is infinite.
struct Interval {
  double lo = 0;
  double hi = 0;

  [[nodiscard]] bool contains(double value) const { return lo <= value && value <= hi; }
  /// True if every value of a lies below (or above) every value of b; false if the intervals touch.
  friend bool operator<(const Interval& a, const Interval& b) { return a.hi < b.lo; }
  friend bool operator>(const Interval& a, const Interval& b) { return a.lo > b.hi; }
  /// Rounded outwards.
  friend Interval operator-(const Interval& a, const Interval& b);
};

/// The narrowest interval of doubles that contains x.
Interval outwards(const Dyadic& x);

/// An interval that contains Σ x_i·y_i, by compensated f64 arithmetic with an a-posteriori error
/// bound (derived in exact.cpp). It is two or three units in the last place wide unless the sum
/// cancels by more than 2^53/n. Costs about 20 flops per element and allocates nothing. Where f64
/// overflows, or where the thread's rounding mode or flushing of denormals voids the bound, the
/// interval encloses `exact_dot` instead. Throws what `exact_dot` throws.
Interval enclose_dot(std::span<const double> x, std::span<const double> y);
Interval enclose_dot(std::span<const float> x, std::span<const float> y);

/// An interval that contains log x, at most two neighbouring doubles wide (one double if x = 1).
/// Throws `usage` unless x > 0. Takes a few microseconds.
Interval enclose_log(const mpq_class& x);

/// Compares lhs with log x exactly. The enclosure of log x is refined until lhs lies outside it.
/// This always ends, because the logarithm of a positive rational other than 1 is irrational. For
/// x = 1, lhs is compared with 0. Throws `usage` unless x > 0. Takes microseconds, unless lhs
/// agrees with log x to thousands of bits.
std::strong_ordering compare_with_log(const Dyadic& lhs, const mpq_class& x);

}  // namespace tamis::lab::numbers
