// Exact arithmetic against naive rationals and MPFR where rounding is hardest: cancellation,
// denormals, overflow, and numbers that agree with a logarithm in hundreds of bits.
#include "lab/numbers/exact.h"

#include <gtest/gtest.h>
#include <mpfr.h>
#include <rapidcheck/gtest.h>

#include <bit>
#include <cfenv>
#include <cmath>
#include <limits>
#include <thread>
#include <vector>
#ifdef __SSE2__
#include <xmmintrin.h>
#endif

#include <tamis/error.h>

namespace tamis {
namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();
constexpr double largest = std::numeric_limits<double>::max();
constexpr double denormal = std::numeric_limits<double>::denorm_min();

/// A word of uniformly random bits.
template <class Word>
rc::Gen<Word> any_word() {
  return rc::gen::resize(rc::kNominalSize, rc::gen::arbitrary<Word>());
}

/// Any finite float, over the whole range of exponents and with denormals.
template <class T, class Word>
rc::Gen<T> any_finite() {
  return rc::gen::map(any_word<Word>(), [](Word word) {
    const T x = std::bit_cast<T>(word);
    return std::isfinite(x) ? x : std::bit_cast<T>(static_cast<Word>(word << 2 >> 2));
  });
}
rc::Gen<double> any_double() { return any_finite<double, std::uint64_t>(); }
rc::Gen<float> any_float() { return any_finite<float, std::uint32_t>(); }

lab::numbers::Dyadic any_dyadic() {
  const auto words = *rc::gen::container<std::vector<std::uint64_t>>(any_word<std::uint64_t>());
  mpz_class mantissa = 0;
  for (const std::uint64_t word : words) mantissa = (mantissa << 64) + mpz_class(word);
  if (*rc::gen::arbitrary<bool>()) mantissa = -mantissa;
  return {mantissa, *rc::gen::inRange(-1300, 1300)};
}

template <class T>
mpq_class naive_dot(const std::vector<T>& x, const std::vector<T>& y) {
  mpq_class sum = 0;
  for (std::size_t i = 0; i < x.size(); ++i)
    sum += mpq_class(double{x[i]}) * mpq_class(double{y[i]});
  return sum;
}

bool encloses(const lab::numbers::Interval& interval, const mpq_class& value) {
  const bool above_lo = interval.lo == -infinity || mpq_class(interval.lo) <= value;
  const bool below_hi = interval.hi == infinity || value <= mpq_class(interval.hi);
  return interval.lo != infinity && interval.hi != -infinity && above_lo && below_hi;
}

Code code_of(const auto& call) {
  try {
    call();
  } catch (const Error& error) {
    EXPECT_STRNE(error.what(), "");
    return error.code();
  }
  return Code{0};
}

// ---- Dyadic ----

RC_GTEST_PROP(Dyadic, HoldsEveryFiniteDoubleExactly, ()) {
  const double x = *any_double();
  const lab::numbers::Dyadic exact(x);
  RC_ASSERT(exact.rational() == mpq_class(x));
  for (const lab::numbers::Round round :
       {lab::numbers::Round::down, lab::numbers::Round::up, lab::numbers::Round::nearest})
    RC_ASSERT(exact.to_double(round) == x);
}

RC_GTEST_PROP(Dyadic, ArithmeticAndOrderAreThoseOfTheRationals, ()) {
  const lab::numbers::Dyadic a = any_dyadic();
  const lab::numbers::Dyadic b = any_dyadic();
  const mpq_class p = a.rational();
  const mpq_class q = b.rational();
  RC_ASSERT((a + b).rational() == p + q);
  RC_ASSERT((a - b).rational() == p - q);
  RC_ASSERT((a * b).rational() == p * q);
  RC_ASSERT((-a).rational() == -p);
  RC_ASSERT(((a <=> b) < 0) == (p < q));
  RC_ASSERT((a == b) == (p == q));
  RC_ASSERT((a - a) == lab::numbers::Dyadic());
  RC_ASSERT((a + b) - b == a);
}

double rounded_by_mpfr(const lab::numbers::Dyadic& x, mpfr_rnd_t rounding) {
  mpfr_t value;
  mpfr_init2(value, std::max<mpfr_prec_t>(
                        2, static_cast<mpfr_prec_t>(mpz_sizeinbase(x.mantissa().get_mpz_t(), 2))));
  mpfr_set_z_2exp(value, x.mantissa().get_mpz_t(), x.exponent(), rounding);
  const double result = mpfr_get_d(value, rounding);
  mpfr_clear(value);
  return result;
}

bool rounds_as_by_mpfr(const lab::numbers::Dyadic& x) {
  return x.to_double(lab::numbers::Round::down) == rounded_by_mpfr(x, MPFR_RNDD) &&
         x.to_double(lab::numbers::Round::up) == rounded_by_mpfr(x, MPFR_RNDU) &&
         x.to_double(lab::numbers::Round::nearest) == rounded_by_mpfr(x, MPFR_RNDN);
}

RC_GTEST_PROP(Dyadic, RoundsToDoubleAsMpfrDoes, ()) {
  RC_ASSERT(rounds_as_by_mpfr(any_dyadic()));
  // A double plus a half, a quarter or three quarters of its last place, or of
  // the smallest denormal.
  const double x = *any_double();
  const double next = std::nextafter(x, infinity);
  if (!std::isfinite(next)) return;
  const lab::numbers::Dyadic gap = lab::numbers::Dyadic(next) - lab::numbers::Dyadic(x);
  for (const double part : {0.25, 0.5, 0.75})
    RC_ASSERT(rounds_as_by_mpfr(lab::numbers::Dyadic(x) + gap * lab::numbers::Dyadic(part)));
}

TEST(Dyadic, RoundsAtTheEndsOfTheDoubles) {
  const lab::numbers::Dyadic beyond = lab::numbers::Dyadic(largest) + lab::numbers::Dyadic(1);
  EXPECT_EQ(beyond.to_double(lab::numbers::Round::down), largest);
  EXPECT_EQ(beyond.to_double(lab::numbers::Round::nearest), largest);
  EXPECT_EQ(beyond.to_double(lab::numbers::Round::up), infinity);
  EXPECT_EQ((-beyond).to_double(lab::numbers::Round::down), -infinity);
  EXPECT_EQ((-beyond).to_double(lab::numbers::Round::up), -largest);
  EXPECT_EQ(lab::numbers::Dyadic(1, 1024).to_double(lab::numbers::Round::nearest), infinity);
  const lab::numbers::Dyadic tiny(1, -5000);
  EXPECT_EQ(tiny.to_double(lab::numbers::Round::up), denormal);
  EXPECT_EQ(tiny.to_double(lab::numbers::Round::down), 0);
  EXPECT_EQ((-tiny).to_double(lab::numbers::Round::down), -denormal);
  EXPECT_EQ(lab::numbers::Dyadic(1, -1075).to_double(lab::numbers::Round::nearest), 0);
  EXPECT_EQ(lab::numbers::Dyadic(3, -1076).to_double(lab::numbers::Round::nearest), denormal);
  for (const lab::numbers::Dyadic& x :
       {beyond, -beyond, tiny, -tiny, lab::numbers::Dyadic(1, -1075),
        lab::numbers::Dyadic(3, -1076)})
    EXPECT_TRUE(rounds_as_by_mpfr(x));
}

TEST(Dyadic, RejectsWhatHasNoExactValue) {
  for (const double x : {infinity, -infinity, std::nan("")})
    EXPECT_EQ(code_of([x] { (void)lab::numbers::Dyadic(x); }), Code::input) << x;
}

TEST(Dyadic, RejectsExponentsThatWouldExhaustMemory) {
  const lab::numbers::Dyadic large(1, lab::numbers::Dyadic::max_exponent - 1);
  const lab::numbers::Dyadic small(1, -lab::numbers::Dyadic::max_exponent);
  EXPECT_EQ(code_of([&] { (void)(large * large); }), Code::usage);
  EXPECT_EQ(code_of([&] { (void)(small * small); }), Code::usage);
  EXPECT_EQ(
      code_of([] { (void)lab::numbers::Dyadic(1, std::numeric_limits<std::int64_t>::max()); }),
      Code::usage);
  EXPECT_EQ(
      code_of([] { (void)lab::numbers::Dyadic(1, std::numeric_limits<std::int64_t>::min()); }),
      Code::usage);
  EXPECT_EQ((large * small).rational(), mpq_class(1, 2));
  EXPECT_EQ(lab::numbers::Dyadic(0, std::numeric_limits<std::int64_t>::max()),
            lab::numbers::Dyadic());
}

// ---- Dot products ----

template <class T>
struct Vectors {
  std::vector<T> x;
  std::vector<T> y;
};

template <class T>
Vectors<T> any_vectors(const rc::Gen<T>& element) {
  const auto n = *rc::gen::inRange<std::size_t>(0, 40);
  return {*rc::gen::container<std::vector<T>>(n, element),
          *rc::gen::container<std::vector<T>>(n, element)};
}

/// Appends the negated vectors with some entries moved by one unit in the last place, and
/// exchanges the halves of the products, so that nearly everything cancels.
template <class T>
Vectors<T> cancelling(Vectors<T> v) {
  const std::size_t n = v.x.size();
  for (std::size_t i = 0; i < n; ++i) {
    v.x.push_back(-v.y[i]);
    v.y.push_back(i % 3 == 0 ? std::nextafter(v.x[i], T{0}) : v.x[i]);
  }
  return v;
}

template <class T>
void check_dot(const Vectors<T>& v) {
  const mpq_class expected = naive_dot(v.x, v.y);
  RC_ASSERT(lab::numbers::exact_dot(std::span<const T>(v.x), std::span<const T>(v.y)).rational() ==
            expected);
  RC_ASSERT(encloses(lab::numbers::enclose_dot(std::span<const T>(v.x), std::span<const T>(v.y)),
                     expected));
}

RC_GTEST_PROP(Dot, OfDoublesIsExactAndEnclosed, ()) {
  const auto v = any_vectors(any_double());
  check_dot(v);
  check_dot(cancelling(v));
}

RC_GTEST_PROP(Dot, OfFloatsIsExactAndEnclosed, ()) {
  const auto v = any_vectors(any_float());
  check_dot(v);
  check_dot(cancelling(v));
}

/// Doubles between 2^-60 and 2^60, so that f64 neither overflows nor underflows.
rc::Gen<double> moderate() {
  return rc::gen::map(any_double(), [](double x) {
    int exponent = 0;
    const double mantissa = std::frexp(x, &exponent);
    return std::ldexp(mantissa, exponent % 61);
  });
}

RC_GTEST_PROP(Dot, OfModerateDoublesIsExactAndEnclosed, ()) {
  const auto v = any_vectors(moderate());
  check_dot(v);
  check_dot(cancelling(v));
}

RC_GTEST_PROP(Dot, EnclosureOfPositiveTermsIsAtMostThreeDoublesWide, ()) {
  auto v = any_vectors(moderate());
  v.x.push_back(1);
  v.y.push_back(1);
  for (std::size_t i = 0; i < v.x.size(); ++i) v.y[i] = std::copysign(v.y[i], v.x[i]);
  const lab::numbers::Interval interval =
      lab::numbers::enclose_dot(std::span<const double>(v.x), std::span<const double>(v.y));
  double end = interval.lo;
  for (int step = 0; step < 3; ++step) end = std::nextafter(end, infinity);
  RC_ASSERT(interval.hi <= end);
}

RC_GTEST_PROP(Dot, EnclosureKeepsSignsThatPlainSummationLoses, ()) {
  // a·b − a·b + c with |a·b| / |c| up to 2^40 · 2^53: the compensated sum must still have the
  // sign of c.
  const double a = std::abs(*moderate()) + 1;
  const double b = std::abs(*moderate()) + 1;
  const double c = std::ldexp(a * b, -80);
  const std::vector<double> x{a, c, -a};
  const std::vector<double> y{b, 1, b};
  RC_ASSERT(lab::numbers::enclose_dot(std::span<const double>(x), std::span<const double>(y)).lo >
            0);
}

TEST(Dot, OverflowDenormalsAndEmptyVectorsAreEnclosed) {
  const std::vector<Vectors<double>> cases{
      {{}, {}},
      {{largest, largest}, {largest, -largest}},
      {{largest, largest, 1}, {largest, -largest, 3}},
      {{largest, largest}, {2, 2}},
      {{-largest, -largest}, {2, 2}},
      {{denormal, denormal}, {denormal, 1}},
      {{denormal, 1, denormal}, {0.5, denormal, 0.5}},
      {{0.0, -0.0}, {1, -1}},
  };
  for (const auto& v : cases) {
    const mpq_class expected = naive_dot(v.x, v.y);
    EXPECT_EQ(lab::numbers::exact_dot(std::span<const double>(v.x), std::span<const double>(v.y))
                  .rational(),
              expected);
    EXPECT_TRUE(encloses(
        lab::numbers::enclose_dot(std::span<const double>(v.x), std::span<const double>(v.y)),
        expected));
  }
}

TEST(Dot, RejectsNanInfinityAndUnequalLengths) {
  const std::vector<double> ones{1, 1};
  for (const double bad : {infinity, -infinity, std::nan("")}) {
    for (const std::vector<double>& x : {std::vector{bad, 1.0}, std::vector{1.0, bad}}) {
      EXPECT_EQ(code_of([&] { (void)lab::numbers::exact_dot(std::span<const double>(x), ones); }),
                Code::input)
          << bad;
      EXPECT_EQ(code_of([&] { (void)lab::numbers::enclose_dot(std::span<const double>(x), ones); }),
                Code::input)
          << bad;
    }
  }
  const std::vector<double> zeros{0, 0};
  const std::vector<double> bad{infinity, 0};
  EXPECT_EQ(code_of([&] { (void)lab::numbers::exact_dot(std::span<const double>(bad), zeros); }),
            Code::input);
  EXPECT_EQ(code_of([&] { (void)lab::numbers::enclose_dot(std::span<const double>(bad), zeros); }),
            Code::input);
  const std::vector<double> one{1};
  EXPECT_EQ(code_of([&] { (void)lab::numbers::exact_dot(std::span<const double>(one), ones); }),
            Code::usage);
  EXPECT_EQ(code_of([&] { (void)lab::numbers::enclose_dot(std::span<const double>(one), ones); }),
            Code::usage);
}

/// Products whose exact sum is denormal or slightly above one, which other floating-point
/// modes get wrong.
const Vectors<double> delicate{{0x1p-600, 1.0 + 0x1p-52, -1},
                               {0x1.8p-470, 1.0 + 0x1p-52, 1 + 0x1p-51}};

TEST(Dot, EnclosureHoldsInEveryRoundingMode) {
  const mpq_class expected = naive_dot(delicate.x, delicate.y);
  for (const int mode : {FE_UPWARD, FE_DOWNWARD, FE_TOWARDZERO, FE_TONEAREST}) {
    std::fesetround(mode);
    const lab::numbers::Interval interval = lab::numbers::enclose_dot(
        std::span<const double>(delicate.x), std::span<const double>(delicate.y));
    const lab::numbers::Interval difference = interval - lab::numbers::Interval{1, 1};
    std::fesetround(FE_TONEAREST);
    EXPECT_TRUE(encloses(interval, expected)) << mode;
    EXPECT_TRUE(encloses(difference, expected - 1)) << mode;
  }
}

#ifdef __SSE2__
TEST(Dot, EnclosureHoldsWhereDenormalsAreFlushed) {
  const std::vector<double> x{0x1p-600, 0x1p-600};
  const std::vector<double> y{0x1.8p-470, -0x1p-470};
  const mpq_class expected = naive_dot(x, y);
  const unsigned before = _mm_getcsr();
  _mm_setcsr(before | 0x8040U);  // flush to zero, denormals are zero
  const lab::numbers::Interval interval =
      lab::numbers::enclose_dot(std::span<const double>(x), std::span<const double>(y));
  const lab::numbers::Interval difference = lab::numbers::Interval{0x1.8p-1022, 0x1.8p-1022} -
                                            lab::numbers::Interval{0x1p-1022, 0x1p-1022};
  _mm_setcsr(before);
  EXPECT_TRUE(encloses(interval, expected)) << interval.lo << " " << interval.hi;
  EXPECT_TRUE(encloses(difference, mpq_class(0x1p-1023))) << difference.lo << " " << difference.hi;
}
#endif

// ---- Logarithms ----

bool below_log(const lab::numbers::Dyadic& lhs, const mpq_class& x) {
  return lab::numbers::compare_with_log(lhs, x) < 0;
}
bool above_log(const lab::numbers::Dyadic& lhs, const mpq_class& x) {
  return lab::numbers::compare_with_log(lhs, x) > 0;
}

/// log x rounded down and up to `precision` bits: its closest neighbours on both sides.
struct Neighbours {
  lab::numbers::Dyadic below;
  lab::numbers::Dyadic above;
};

Neighbours neighbours_of_log(const mpq_class& x, mpfr_prec_t precision) {
  const auto one = [&](mpfr_rnd_t rounding) {
    mpfr_t argument;
    mpfr_t value;
    mpfr_init2(argument, 40000);  // the rationals of these tests, or enough of them
    mpfr_init2(value, precision);
    mpfr_set_q(argument, x.get_mpq_t(), rounding);
    mpfr_log(value, argument, rounding);
    mpz_class mantissa;
    const mpfr_exp_t exponent = mpfr_get_z_2exp(mantissa.get_mpz_t(), value);
    mpfr_clears(argument, value, static_cast<mpfr_ptr>(nullptr));
    return lab::numbers::Dyadic(mantissa, exponent);
  };
  return {one(MPFR_RNDD), one(MPFR_RNDU)};
}

std::vector<mpq_class> positive_rationals() {
  const mpz_class huge = mpz_class(1) << 5000;
  const mpz_class near = mpz_class(1) << 300;
  return {mpq_class(3, 2),
          mpq_class(1, 2),
          2,
          mpq_class(1, 3),
          10,
          mpq_class(1, 1000),
          mpq_class(1.1),
          mpq_class(0.05),
          mpq_class(denormal),
          mpq_class(largest),
          huge,
          mpq_class(1) / huge,
          mpq_class(near + 1, near),
          mpq_class(near - 1, near),
          mpq_class(1999999, 1000000)};
}

TEST(Log, IsToldFromItsNearestNeighboursAtAnyPrecision) {
  for (const mpq_class& x : positive_rationals()) {
    for (const mpfr_prec_t precision : {24, 53, 64, 128, 200, 3000}) {
      const Neighbours near = neighbours_of_log(x, precision);
      ASSERT_LT(near.below, near.above);
      EXPECT_TRUE(below_log(near.below, x)) << x << " " << precision;
      EXPECT_TRUE(above_log(near.above, x)) << x << " " << precision;
    }
  }
}

TEST(Log, DoublesOnEitherSideOfLogThreeHalvesAreTold) {
  const double above = 0.405465108108164381978;  // log(3/2), rounded; MPFR says to which side
  const Neighbours near = neighbours_of_log(mpq_class(3, 2), 53);
  EXPECT_TRUE(near.below == lab::numbers::Dyadic(above) ||
              near.above == lab::numbers::Dyadic(above));
  EXPECT_TRUE(below_log(near.below, mpq_class(3, 2)));
  EXPECT_TRUE(above_log(near.above, mpq_class(3, 2)));
  EXPECT_EQ(near.above.to_double(lab::numbers::Round::nearest),
            std::nextafter(near.below.to_double(lab::numbers::Round::nearest), 1.0));
}

TEST(Log, OfOneIsComparedAsZero) {
  EXPECT_EQ(lab::numbers::compare_with_log(lab::numbers::Dyadic(), 1), std::strong_ordering::equal);
  EXPECT_EQ(lab::numbers::compare_with_log(lab::numbers::Dyadic(1, -4000), 1),
            std::strong_ordering::greater);
  EXPECT_EQ(lab::numbers::compare_with_log(lab::numbers::Dyadic(-1, -4000), 1),
            std::strong_ordering::less);
  const lab::numbers::Interval zero = lab::numbers::enclose_log(1);
  EXPECT_EQ(zero.lo, 0);
  EXPECT_EQ(zero.hi, 0);
}

TEST(Log, IsComparedWithNumbersOfAnySize) {
  for (const mpq_class& x : positive_rationals()) {
    EXPECT_TRUE(above_log(lab::numbers::Dyadic(1, 100000), x));
    EXPECT_TRUE(below_log(lab::numbers::Dyadic(-1, 100000), x));
    EXPECT_EQ(below_log(lab::numbers::Dyadic(), x), x > 1);
    EXPECT_EQ(below_log(lab::numbers::Dyadic(1, -100000), x), x > 1);
    EXPECT_EQ(below_log(lab::numbers::Dyadic(-1, -100000), x), x > 1);
  }
}

TEST(Log, OfZeroAndNegativeNumbersIsRejected) {
  for (const mpq_class& x : {mpq_class(0), mpq_class(-1), mpq_class(-1, 3)}) {
    EXPECT_EQ(code_of([&] { (void)lab::numbers::compare_with_log(lab::numbers::Dyadic(1), x); }),
              Code::usage);
    EXPECT_EQ(code_of([&] { (void)lab::numbers::enclose_log(x); }), Code::usage);
  }
}

RC_GTEST_PROP(Log, EnclosureContainsItAndIsNarrow, ()) {
  const auto numerator = *rc::gen::inRange<std::uint64_t>(1, 1000000);
  const auto denominator = *rc::gen::inRange<std::uint64_t>(1, 1000000);
  mpq_class x{mpz_class(numerator), mpz_class(denominator)};
  x.canonicalize();
  const lab::numbers::Interval interval = lab::numbers::enclose_log(x);
  RC_ASSERT(!above_log(lab::numbers::Dyadic(interval.lo), x));
  RC_ASSERT(!below_log(lab::numbers::Dyadic(interval.hi), x));
  RC_ASSERT(interval.hi <= std::nextafter(std::nextafter(interval.lo, infinity), infinity));
}

TEST(Log, EnclosureContainsItForExtremeNumbers) {
  for (const mpq_class& x : positive_rationals()) {
    const lab::numbers::Interval interval = lab::numbers::enclose_log(x);
    EXPECT_TRUE(below_log(lab::numbers::Dyadic(interval.lo), x)) << x;
    EXPECT_TRUE(above_log(lab::numbers::Dyadic(interval.hi), x)) << x;
  }
}

RC_GTEST_PROP(Log, OrderIsThatOfExponentials, ()) {
  // log x < log y for x < y, so a dyadic below log x must also be reported as below log y.
  const mpq_class x = mpq_class(std::abs(*moderate())) + mpq_class(1, 7);
  const mpq_class y = x + mpq_class(1, 1000);
  const lab::numbers::Dyadic lhs(*moderate());
  if (below_log(lhs, x)) RC_ASSERT(below_log(lhs, y));
  if (above_log(lhs, y)) RC_ASSERT(above_log(lhs, x));
}

// ---- What all of this is for ----

TEST(Witness, ConditionsAreDecidedOnBothSidesOfTheirBoundary) {
  // One row, d = 2. Key 0 is outside the support (A = 0); keys 1 and 2 are inside, with A =
  // 1/3 and 2/3.
  const std::vector<double> q{1, 0x1p-30};
  const lab::numbers::Dyadic eps1(0.1);
  const mpq_class ratio = mpq_class(2);  // A_2 / A_1
  const Neighbours edge = neighbours_of_log(eps1.rational(), 80);
  const auto key = [](const lab::numbers::Dyadic&
                          logit) {  // q·k = logit, exactly: the head and the rest, scaled up
    const double head = logit.to_double(lab::numbers::Round::nearest);
    const lab::numbers::Dyadic rest =
        (logit - lab::numbers::Dyadic(head)) * lab::numbers::Dyadic(0x1p30);
    return std::vector<double>{head, rest.to_double(lab::numbers::Round::nearest)};
  };
  const std::vector<double> k1{0.25, 0};
  const lab::numbers::Dyadic l1 = lab::numbers::exact_dot(std::span<const double>(q), k1);
  const auto holds_23 = [&](const std::vector<double>& k0) {
    return below_log(lab::numbers::exact_dot(std::span<const double>(q), k0) - l1, eps1.rational());
  };
  EXPECT_TRUE(holds_23(key(l1 + edge.below)));
  EXPECT_FALSE(holds_23(key(l1 + edge.above)));

  const lab::numbers::Dyadic eps2(0.5);
  const Neighbours middle = neighbours_of_log(ratio, 80);
  const auto holds_24 = [&](const std::vector<double>& k2) {
    const lab::numbers::Dyadic gap = lab::numbers::exact_dot(std::span<const double>(q), k2) - l1;
    return below_log(gap - eps2, ratio) && above_log(gap + eps2, ratio);
  };
  EXPECT_TRUE(holds_24(key(l1 + middle.below)));
  EXPECT_TRUE(holds_24(key(l1 + middle.below + eps2)));
  EXPECT_FALSE(holds_24(key(l1 + middle.above + eps2)));
  EXPECT_TRUE(holds_24(key(l1 + middle.above - eps2)));
  EXPECT_FALSE(holds_24(key(l1 + middle.below - eps2)));
}

TEST(Exact, GivesTheSameAnswersOnManyThreads) {
  ASSERT_NE(mpfr_buildopt_tls_p(), 0) << "this MPFR shares its state between threads";
  const std::vector<mpq_class> rationals = positive_rationals();
  std::vector<std::thread> threads;
  std::vector<int> wrong(8, 0);
  for (std::size_t t = 0; t < wrong.size(); ++t) {
    threads.emplace_back([&, t] {
      for (std::size_t i = 0; i < rationals.size(); ++i) {
        const mpq_class& x = rationals[(i + t) % rationals.size()];
        const lab::numbers::Interval interval = lab::numbers::enclose_log(x);
        if (!below_log(lab::numbers::Dyadic(interval.lo), x)) ++wrong[t];
        if (!above_log(lab::numbers::Dyadic(interval.hi), x)) ++wrong[t];
        const Neighbours near = neighbours_of_log(x, 500);
        if (!below_log(near.below, x)) ++wrong[t];
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong, std::vector<int>(wrong.size(), 0));
}

}  // namespace
}  // namespace tamis
