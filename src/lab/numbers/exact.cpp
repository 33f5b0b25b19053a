#include "lab/numbers/exact.h"

#include <mpfr.h>

#include <algorithm>
#include <bit>
#include <cfenv>
#include <cmath>
#include <limits>
#include <utility>

#include "core/fail.h"

namespace tamis::lab::numbers {
namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();
constexpr int fraction_bits = 52;
constexpr std::int64_t lowest_exponent = -1074;  // exponent of the last bit of a denormal

/// A finite double as mantissa · 2^exponent, taken from its bits in any floating-point mode.
struct Parts {
  std::int64_t mantissa;
  std::int64_t exponent;
};

Parts parts_of(double value) {
  const auto bits = std::bit_cast<std::uint64_t>(value);
  const auto biased = static_cast<std::int64_t>((bits >> fraction_bits) & 0x7FFU);
  if (biased == 0x7FF)
    core::fail(Code::input, "{} has no exact value: only finite numbers have one", value);
  auto mantissa = static_cast<std::int64_t>(bits & ((std::uint64_t{1} << fraction_bits) - 1));
  if (biased != 0) mantissa |= std::int64_t{1} << fraction_bits;
  return {bits >> 63 ? -mantissa : mantissa,
          std::max<std::int64_t>(biased, 1) - 1 + lowest_exponent};
}

/// Two numbers as mantissas with a common exponent, the smaller of theirs.
struct Aligned {
  mpz_class a;
  mpz_class b;
  std::int64_t exponent;
};

Aligned align(const Dyadic& a, const Dyadic& b) {
  if (a.sign() == 0) return {0, b.mantissa(), b.exponent()};
  if (b.sign() == 0) return {a.mantissa(), 0, a.exponent()};
  const std::int64_t exponent = std::min(a.exponent(), b.exponent());
  return {a.mantissa() << static_cast<mp_bitcnt_t>(a.exponent() - exponent),
          b.mantissa() << static_cast<mp_bitcnt_t>(b.exponent() - exponent), exponent};
}

std::strong_ordering ordering(int sign) { return sign <=> 0; }

}  // namespace

Dyadic::Dyadic(double value) {
  const Parts parts = parts_of(value);
  *this = Dyadic(mpz_class(parts.mantissa), parts.exponent);
}

Dyadic::Dyadic(mpz_class mantissa, std::int64_t exponent) : mantissa_(std::move(mantissa)) {
  if (sign() == 0) return;
  const auto zeros = static_cast<std::int64_t>(mpz_scan1(mantissa_.get_mpz_t(), 0));
  mantissa_ >>= static_cast<mp_bitcnt_t>(zeros);
  const auto bits = static_cast<std::int64_t>(mpz_sizeinbase(mantissa_.get_mpz_t(), 2));
  if (exponent < -max_exponent - zeros || exponent > max_exponent - zeros - bits)
    core::fail(Code::usage, "an exact number of {} bits times 2^{} lies outside 2^±{}",
               bits + zeros, exponent, max_exponent);
  exponent_ = exponent + zeros;
}

mpq_class Dyadic::rational() const {
  mpq_class result(mantissa_);
  if (exponent_ > 0) result <<= static_cast<mp_bitcnt_t>(exponent_);
  if (exponent_ < 0) result >>= static_cast<mp_bitcnt_t>(-exponent_);
  return result;
}

double Dyadic::to_double(Round round) const {
  if (sign() == 0) return 0;
  const bool negative = sign() < 0;
  const bool away = round == (negative ? Round::down : Round::up);
  const auto signed_bits = [negative](std::uint64_t magnitude) {
    return std::bit_cast<double>(magnitude | (negative ? std::uint64_t{1} << 63 : 0));
  };

  // The kept mantissa counts units of 2^last: 53 bits, or fewer for a denormal.
  const auto bits = static_cast<std::int64_t>(mpz_sizeinbase(mantissa_.get_mpz_t(), 2));
  std::int64_t last = std::max(exponent_ + bits - (fraction_bits + 1), lowest_exponent);
  mpz_class magnitude = abs(mantissa_);
  if (exponent_ >= last) {
    magnitude <<= static_cast<mp_bitcnt_t>(exponent_ - last);
  } else {
    const auto dropped = static_cast<mp_bitcnt_t>(last - exponent_);
    const bool half = mpz_tstbit(magnitude.get_mpz_t(), dropped - 1) != 0;
    const bool beyond_half = dropped > 1;  // because the mantissa is odd
    magnitude >>= dropped;
    const bool odd = mpz_odd_p(magnitude.get_mpz_t()) != 0;
    if (round == Round::nearest ? half && (beyond_half || odd) : away) magnitude += 1;
  }
  std::uint64_t kept = magnitude.get_ui();
  if (kept == std::uint64_t{1} << (fraction_bits + 1)) {
    kept >>= 1;
    ++last;
  }
  if (kept >> fraction_bits == 0) return signed_bits(kept);  // denormal: last = lowest_exponent
  const std::int64_t biased = last - lowest_exponent + 1;
  if (biased >= 0x7FF) {
    const bool to_infinity = round == Round::nearest || away;
    return signed_bits(
        std::bit_cast<std::uint64_t>(to_infinity ? infinity : std::numeric_limits<double>::max()));
  }
  return signed_bits(kept + (static_cast<std::uint64_t>(biased - 1) << fraction_bits));
}

Dyadic operator-(const Dyadic& a) {
  Dyadic result = a;
  result.mantissa_ = -result.mantissa_;
  return result;
}

Dyadic operator+(const Dyadic& a, const Dyadic& b) {
  Aligned t = align(a, b);
  t.a += t.b;
  return {std::move(t.a), t.exponent};
}

Dyadic operator-(const Dyadic& a, const Dyadic& b) {
  Aligned t = align(a, b);
  t.a -= t.b;
  return {std::move(t.a), t.exponent};
}

Dyadic operator*(const Dyadic& a, const Dyadic& b) {
  return {a.mantissa_ * b.mantissa_, a.exponent_ + b.exponent_};
}

std::strong_ordering operator<=>(const Dyadic& a, const Dyadic& b) {
  if (a.sign() != b.sign()) return a.sign() <=> b.sign();
  const Aligned t = align(a, b);
  return ordering(cmp(t.a, t.b));
}

namespace {

template <class T>
void expect_equal_lengths(std::span<const T> x, std::span<const T> y) {
  if (x.size() != y.size())
    core::fail(Code::usage, "a dot product needs vectors of one length, not {} and {}", x.size(),
               y.size());
}

template <class T>
Dyadic exact_dot_of(std::span<const T> x, std::span<const T> y) {
  expect_equal_lengths(x, y);
  // Every product is an integer multiple of 2^lowest.
  std::int64_t lowest = std::numeric_limits<std::int64_t>::max();
  for (std::size_t i = 0; i < x.size(); ++i) {
    const Parts a = parts_of(x[i]);
    const Parts b = parts_of(y[i]);
    if (a.mantissa != 0 && b.mantissa != 0) lowest = std::min(lowest, a.exponent + b.exponent);
  }
  mpz_class sum;
  mpz_class product;
  for (std::size_t i = 0; i < x.size(); ++i) {
    const Parts a = parts_of(x[i]);
    const Parts b = parts_of(y[i]);
    if (a.mantissa == 0 || b.mantissa == 0) continue;
    product = a.mantissa;
    product *= b.mantissa;
    product <<= static_cast<mp_bitcnt_t>(a.exponent + b.exponent - lowest);
    sum += product;
  }
  if (sgn(sum) == 0) return {};
  return {std::move(sum), lowest};
}

/// Whether this thread rounds to nearest and keeps denormals, as the bound of `enclose_dot`
/// assumes. Libraries linked with -ffast-math switch denormals off for a whole process.
bool rounds_as_ieee() {
  volatile double smallest = std::numeric_limits<double>::min();
  volatile double denormal = std::numeric_limits<double>::denorm_min();
  volatile double halved = smallest * 0.5;
  volatile double doubled = denormal * 2;
  return std::fegetround() == FE_TONEAREST && halved != 0 && doubled != 0;
}

/// A double above (or below) all reals that are rounded or flushed to x, in any rounding mode.
double above(double x) {
  constexpr double smallest = std::numeric_limits<double>::min();
  return std::abs(x) < smallest ? smallest : std::nextafter(x, infinity);
}
double below(double x) { return -above(-x); }

struct Split {
  double head;
  double tail;
};

/// head + tail = a + b exactly (Knuth), unless the sum overflows.
Split two_sum(double a, double b) {
  const double head = a + b;
  const double b_part = head - a;
  return {head, (a - (head - b_part)) + (b - b_part)};
}

/// head + tail = x·y up to half the smallest denormal, unless the product overflows.
Split two_product(double x, double y) {
  const double head = x * y;
  return {head, std::fma(x, y, -head)};
}
/// Exact: the product has at most 48 bits, and its exponent is far from the limits of double.
Split two_product(float x, float y) { return {static_cast<double>(x) * static_cast<double>(y), 0}; }

// The compensated dot product of Ogita, Rump and Oishi. head and the tails hold the sum exactly,
// except that each product may lose η/2, η = 2^-1074. Let u = 2^-53, let q_i and r_i be the tails
// of the i-th sum and product, t_i = fl(q_i + r_i) and e = fl(Σ|t_i|). Then
//   |Σ x_i·y_i − (head + tail)| ≤ u·Σ|t_i| + γ_{n−1}·Σ|t_i| + n·η/2 ≤ 1.001·n·u·e + n·η/2
// for n ≤ 2^26, since Σ|t_i| ≤ e/(1 − u)^{n−1}. The code evaluates the bound as 2n·u·e + n·η, whose
// slack covers the roundings of the bound itself. Overflow anywhere leaves an infinity or a NaN in
// head, tail or e.
template <class T>
Interval enclose_dot_of(std::span<const T> x, std::span<const T> y) {
  expect_equal_lengths(x, y);
  constexpr std::size_t longest = std::size_t{1} << 26;
  if (x.size() > longest || !rounds_as_ieee()) return outwards(exact_dot_of(x, y));
  double head = 0;
  double tail = 0;
  double e = 0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    const Split product = two_product(x[i], y[i]);
    const Split sum = two_sum(head, product.head);
    const double t = sum.tail + product.tail;
    head = sum.head;
    tail += t;
    e += std::abs(t);
  }
  const Split middle = two_sum(head, tail);
  if (!std::isfinite(middle.head) || !std::isfinite(middle.tail) || !std::isfinite(e))
    return outwards(exact_dot_of(x, y));
  const auto n = static_cast<double>(x.size());
  const double radius = n * 0x1p-52 * e + n * std::numeric_limits<double>::denorm_min();
  return {below(middle.head + below(middle.tail - radius)),
          above(middle.head + above(middle.tail + radius))};
}

/// An MPFR number, whose precision is chosen where it is used.
class Real {
 public:
  explicit Real(mpfr_prec_t precision) { mpfr_init2(value_, precision); }
  ~Real() { mpfr_clear(value_); }
  Real(const Real&) = delete;
  Real& operator=(const Real&) = delete;
  mpfr_ptr get() { return value_; }

 private:
  mpfr_t value_;
};

/// MPFR keeps log 2 and other constants for each thread. This frees them when the thread ends.
void free_constants_at_thread_exit() {
  struct Constants {
    ~Constants() { mpfr_free_cache2(MPFR_FREE_LOCAL_CACHE); }
  };
  thread_local const Constants constants;
  (void)constants;
}

void expect_positive(const mpq_class& x) {
  if (sgn(x.get_num()) <= 0 || sgn(x.get_den()) <= 0)
    core::fail(Code::usage, "the logarithm of {} was asked for; only positive numbers have one",
               x.get_str());
}

/// Sets `out` to log x rounded in direction `rounding`. x is `argument`, plus 1 if `shifted`.
void log_of(Real& out, const mpq_class& argument, bool shifted, mpfr_rnd_t rounding) {
  Real rounded(mpfr_get_prec(out.get()));
  mpfr_set_q(rounded.get(), argument.get_mpq_t(), rounding);
  if (shifted) {
    mpfr_log1p(out.get(), rounded.get(), rounding);
  } else {
    mpfr_log(out.get(), rounded.get(), rounding);
  }
}

/// The ends of an enclosure of log x, x ≠ 1. As the logarithm is monotone, rounding both the
/// argument and the result in the same direction gives an end. Near 1 log1p(x − 1) is computed,
/// which keeps the relative precision.
struct LogEnds {
  Real lo;
  Real hi;

  LogEnds(const mpq_class& x, mpfr_prec_t precision) : lo(precision), hi(precision) {
    free_constants_at_thread_exit();
    const bool near_one = x > mpq_class(1, 2) && x < 2;
    const mpq_class argument = near_one ? mpq_class(x - 1) : x;
    log_of(lo, argument, near_one, MPFR_RNDD);
    log_of(hi, argument, near_one, MPFR_RNDU);
  }
};

/// The exact value of an MPFR number. It is finite, as the logarithm of a positive number.
Dyadic dyadic_of(Real& x) {
  if (mpfr_zero_p(x.get()) != 0) return {};
  mpz_class mantissa;
  const mpfr_exp_t exponent = mpfr_get_z_2exp(mantissa.get_mpz_t(), x.get());
  return {std::move(mantissa), exponent};
}

}  // namespace

Interval outwards(const Dyadic& x) { return {x.to_double(Round::down), x.to_double(Round::up)}; }

Dyadic exact_dot(std::span<const double> x, std::span<const double> y) {
  return exact_dot_of(x, y);
}
Dyadic exact_dot(std::span<const float> x, std::span<const float> y) { return exact_dot_of(x, y); }

Interval operator-(const Interval& a, const Interval& b) {
  return {below(a.lo - b.hi), above(a.hi - b.lo)};
}

Interval enclose_dot(std::span<const double> x, std::span<const double> y) {
  return enclose_dot_of(x, y);
}
Interval enclose_dot(std::span<const float> x, std::span<const float> y) {
  return enclose_dot_of(x, y);
}

Interval enclose_log(const mpq_class& x) {
  expect_positive(x);
  if (x.get_num() == x.get_den()) return {0, 0};
  LogEnds ends(x, 80);
  return {dyadic_of(ends.lo).to_double(Round::down), dyadic_of(ends.hi).to_double(Round::up)};
}

std::strong_ordering compare_with_log(const Dyadic& lhs, const mpq_class& x) {
  expect_positive(x);
  if (x.get_num() == x.get_den()) return ordering(lhs.sign());
  for (mpfr_prec_t precision = 64;; precision *= 2) {
    LogEnds ends(x, precision);
    // log x is not dyadic, so it is strictly inside the enclosure, and lhs may equal an end.
    if (lhs <= dyadic_of(ends.lo)) return std::strong_ordering::less;
    if (lhs >= dyadic_of(ends.hi)) return std::strong_ordering::greater;
  }
}

}  // namespace tamis::lab::numbers
