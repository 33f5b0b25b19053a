// Verification against rational arithmetic on every pair, on cases where rounding would change the
// answer, and on witnesses moved slightly beyond their margin.
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <cmath>
#include <limits>

#include <tamis/error.h>
#include "support/lab/witnesses.h"

namespace tamis::test {
namespace {

constexpr lab::Arithmetic arithmetics[] = {lab::Arithmetic::f32, lab::Arithmetic::f64,
                                           lab::Arithmetic::exact};
constexpr double infinity = std::numeric_limits<double>::infinity();

lab::Verification verify_case(const VerifyCase& given, int threads = 1) {
  return lab::verify(given.pattern, given.witness, given.conditions, threads);
}

RC_GTEST_PROP(Verify, AgreesWithEveryPairInRationalArithmetic, ()) {
  const auto seed = *rc::gen::resize(rc::kNominalSize, rc::gen::arbitrary<std::uint64_t>());
  for (std::uint64_t i = 0; i < 8; ++i) {
    const VerifyCase given = random_case(seed + i);
    const lab::Verification result = verify_case(given);
    for (const lab::Arithmetic arithmetic : arithmetics) {
      RC_LOG() << "seed " << seed + i << ", " << lab::name_of(arithmetic) << '\n';
      const lab::Checked naive = naive_check(given, arithmetic);
      const lab::Checked& checked = result[arithmetic];
      RC_ASSERT(checked.holds == naive.holds);
      RC_ASSERT(checked.failing_rows == naive.failing_rows);
      if (std::isinf(naive.margin)) {
        RC_ASSERT(checked.margin == naive.margin);
        RC_ASSERT(checked.worst_row == naive.worst_row);
        continue;
      }
      RC_ASSERT((checked.margin > 0) == (naive.margin > 0));
      RC_ASSERT(std::abs(checked.margin) <= std::abs(naive.margin) * (1 + 0x1p-50));
      RC_ASSERT(std::abs(checked.margin - naive.margin) <= margin_tolerance(given, naive.margin));
      RC_ASSERT(checked.worst_row >= 0 && checked.worst_row < given.pattern.rows);
    }
  }
}

TEST(Verify, GivesTheSameBitsForAnyNumberOfThreads) {
  Dice dice(7);
  const std::int64_t n = 2000;  // more rows than one thread takes at a time
  Matrix a{n, n, std::vector<double>(static_cast<std::size_t>(n * n))};
  Matrix q{n, 3, {}};
  Matrix k{n, 3, {}};
  for (std::int64_t i = 0; i < n; ++i) {
    a.values[static_cast<std::size_t>(i * n + dice.below(n))] = 1;
    a.values[static_cast<std::size_t>(i * n + dice.below(n))] = 2;
  }
  for (std::int64_t i = 0; i < n * 3; ++i) q.values.push_back(dice.normal());
  for (std::int64_t i = 0; i < n * 3; ++i) k.values.push_back(dice.normal());
  const VerifyCase given{pattern_of(a), witness_of(q, k), {}};
  const lab::Verification one = verify_case(given, 1);
  for (const int threads : {2, 3, 7}) {
    const lab::Verification many = verify_case(given, threads);
    EXPECT_EQ(many.norm_product, one.norm_product);
    EXPECT_EQ(many.max_logit, one.max_logit);
    for (const lab::Arithmetic arithmetic : arithmetics) {
      EXPECT_EQ(many[arithmetic].margin, one[arithmetic].margin);
      EXPECT_EQ(many[arithmetic].worst_row, one[arithmetic].worst_row);
      EXPECT_EQ(many[arithmetic].failing_rows, one[arithmetic].failing_rows);
    }
  }
}

/// A witness whose logits are the entries of q, since the keys are unit vectors.
lab::Witness with_logits(const Matrix& logits) {
  Matrix unit{logits.cols, logits.cols,
              std::vector<double>(static_cast<std::size_t>(logits.cols * logits.cols))};
  for (std::int64_t j = 0; j < logits.cols; ++j)
    unit.values[static_cast<std::size_t>(j * logits.cols + j)] = 1;
  return witness_of(logits, unit);
}

RC_GTEST_PROP(Verify, FailsOnceOneEntryMovesBeyondTheMargin, ()) {
  Dice dice(*rc::gen::resize(rc::kNominalSize, rc::gen::arbitrary<std::uint64_t>()));
  const std::int64_t n = 2 + dice.below(30);
  Matrix a{n, n, std::vector<double>(static_cast<std::size_t>(n * n))};
  Matrix logits = a;
  for (std::int64_t i = 0; i < n; ++i)
    for (std::int64_t j = 0; j < n; ++j) {
      const auto at = static_cast<std::size_t>(i * n + j);
      if (i == j || dice.below(5) == 0) a.values[at] = dice.coin() ? 1 : 3;
      logits.values[at] =
          a.values[at] == 0 ? -20 + dice.normal() : std::log(a.values[at]) + 0.05 * dice.normal();
    }
  const lab::Pattern pattern = pattern_of(a);
  lab::Conditions conditions;
  const lab::Checked before =
      lab::verify(pattern, with_logits(logits), conditions, 1)[lab::Arithmetic::exact];
  RC_ASSERT(before.holds);
  // Moves a zero of the row to the row's least nonzero less log(1/ε₁), which uses up its slack to
  // the last bits.
  const std::int64_t row = dice.below(n);
  double least = infinity;
  std::int64_t zero = -1;
  for (std::int64_t j = 0; j < n; ++j) {
    if (a(row, j) != 0)
      least = std::min(least, logits(row, j));
    else
      zero = j;
  }
  if (zero < 0) return;
  const double limit = least + std::log(conditions.eps1);
  for (const double nudge : {-1e-12, 1e-12}) {
    Matrix moved = logits;
    moved.values[static_cast<std::size_t>(row * n + zero)] = limit + nudge;
    const lab::Checked after =
        lab::verify(pattern, with_logits(moved), conditions, 1)[lab::Arithmetic::exact];
    RC_ASSERT(after.holds == (nudge < 0));
    RC_ASSERT(after.worst_row == row);
    // The limit and the moved entry are each rounded to within 2^-52·32.
    RC_ASSERT(std::abs(after.margin + nudge) < 0x1p-46);
  }
}

// ---- Where rounding would decide otherwise ----

lab::Checked weak_check(const Matrix& q, const Matrix& k, lab::Arithmetic arithmetic) {
  lab::Conditions weak;
  weak.weak = true;
  return lab::verify(pattern_of({1, 2, {1, 0}}), witness_of(q, k), weak, 1)[arithmetic];
}

TEST(Verify, ATieIsNoSuccess) {
  for (const lab::Arithmetic arithmetic : arithmetics) {
    const lab::Checked checked = weak_check({1, 1, {1}}, {2, 1, {0.1, 0.1}}, arithmetic);
    EXPECT_FALSE(checked.holds);
    EXPECT_EQ(checked.margin, 0);
    EXPECT_EQ(checked.failing_rows, 1);
    EXPECT_EQ(checked.worst_row, 0);
  }
}

TEST(Verify, SeesBitsThatF64Loses) {
  // L = 1 + 2^-60 against 1: a strict success that f64 takes for a tie.
  const Matrix q{1, 2, {1, 0x1p-60}};
  const Matrix k{2, 2, {1, 1, 1, 0}};
  EXPECT_FALSE(weak_check(q, k, lab::Arithmetic::f64).holds);
  EXPECT_TRUE(weak_check(q, k, lab::Arithmetic::exact).holds);
  EXPECT_EQ(weak_check(q, k, lab::Arithmetic::exact).margin, 0x1p-60);
  // The other way round: 1 − 2^-60 against 1 is a tie in f64 and a failure in truth.
  const Matrix worse{2, 2, {1, -1, 1, 0}};
  EXPECT_EQ(weak_check(q, worse, lab::Arithmetic::f64).margin, 0);
  EXPECT_EQ(weak_check(q, worse, lab::Arithmetic::exact).margin, -0x1p-60);
}

TEST(Verify, SeesTheZeroThatF64RanksLower) {
  // The logits are 0.75, 0.5 and 1, but f64 computes the last as 0.
  lab::Conditions weak;
  weak.weak = true;
  const lab::Witness witness =
      witness_of({1, 3, {1, 1, 1}}, {3, 3, {0, 0.75, 0, 0, 0.5, 0, 0x1p60, 1, -0x1p60}});
  const lab::Verification result = lab::verify(pattern_of({1, 3, {1, 0, 0}}), witness, weak, 1);
  EXPECT_NEAR(result[lab::Arithmetic::f64].margin, 0.25, 0x1p-32);
  EXPECT_NEAR(result[lab::Arithmetic::exact].margin, -0.25, 0x1p-32);
}

TEST(Verify, MarginsOfLargeLogitsAreTheirOwnSize) {
  // Gaps of 3 between logits of 10^15, whose last place is 1/8.
  const lab::Witness witness =
      witness_of({1, 2, {1, 1}}, {2, 2, {1e15, 0.015625, 1e15, -2.984375}});
  const lab::Checked exact =
      lab::verify(pattern_of({1, 2, {1, 0}}), witness, {}, 1)[lab::Arithmetic::exact];
  EXPECT_NEAR(exact.margin, 3 + std::log(0.1), 0x1p-50);
}

TEST(Verify, ProductsAreFormedWithoutRounding) {
  // Keys x·w_k are 1 + 2^-60 and 1; queries are 1.
  lab::Witness witness;
  witness.x = tensor_of({2, 2, {1, 1, 1, 0}}, DType::f32);
  witness.w_q = tensor_of({2, 1, {1, 0}}, DType::f32);
  witness.w_k = tensor_of({2, 1, {1, 0x1p-60}}, DType::f32);
  lab::Conditions weak;
  weak.weak = true;
  const lab::Verification result = lab::verify(pattern_of({2, 2, {1, 0, 1, 0}}), witness, weak, 1);
  EXPECT_EQ(result[lab::Arithmetic::f64].margin, 0);
  EXPECT_EQ(result[lab::Arithmetic::exact].margin, 0x1p-60);
}

TEST(Verify, SeesWhatOverflowsAndUnderflows) {
  constexpr double huge = 0x1p1000;
  const Matrix q{1, 2, {huge, huge}};
  const Matrix above{2, 2, {huge, -0x1.fffffffffffffp999, huge, -huge}};
  EXPECT_TRUE(weak_check(q, above, lab::Arithmetic::exact).holds);
  EXPECT_EQ(weak_check(q, above, lab::Arithmetic::f64).margin, -infinity);
  constexpr double tiny = std::numeric_limits<double>::denorm_min();
  const lab::Checked below = weak_check({1, 1, {tiny}}, {2, 1, {tiny, 0}}, lab::Arithmetic::exact);
  EXPECT_TRUE(below.holds);
  EXPECT_EQ(below.margin, tiny);  // the true margin, 2^-2148, is not representable
  EXPECT_FALSE(weak_check({1, 1, {tiny}}, {2, 1, {tiny, 0}}, lab::Arithmetic::f64).holds);
}

TEST(Verify, ARangeOfExactlyEps2IsNoSuccess) {
  const lab::Pattern pattern = pattern_of({1, 2, {1, 1}});
  const auto check = [&](double low, double tail) {
    // L = (1 + tail·2^-70, low)
    return lab::verify(pattern, witness_of({1, 2, {1, 0x1p-70}}, {2, 2, {1, tail, low, 0}}), {}, 1);
  };
  EXPECT_EQ(check(0, 0)[lab::Arithmetic::exact].margin, 0);
  EXPECT_FALSE(check(0, 0).holds());
  EXPECT_TRUE(check(0, -1).holds());
  EXPECT_FALSE(check(0, -1)[lab::Arithmetic::f64].holds);
  EXPECT_FALSE(check(0, 1).holds());
  EXPECT_LT(check(0, 1)[lab::Arithmetic::exact].margin, 0);
}

TEST(Verify, TheLogarithmIsEnclosedNotRounded) {
  // The two doubles around log 0.1 decide (23) in opposite ways.
  const double log = std::log(0.1);
  const double below = std::nextafter(log, -infinity);
  const double above = std::nextafter(log, infinity);
  const lab::Pattern pattern = pattern_of({1, 2, {1, 0}});
  const auto holds = [&](double zero) {
    return lab::verify(pattern, witness_of({1, 1, {1}}, {2, 1, {0, zero}}), {}, 1).holds();
  };
  EXPECT_TRUE(holds(below));
  EXPECT_FALSE(holds(above));
}

// ---- Figures and edges ----

TEST(Verify, ARowWithoutZerosAndWithOneNonzeroHasNoCondition) {
  const lab::Verification result =
      lab::verify(pattern_of({1, 1, {5}}), witness_of({1, 1, {7}}, {1, 1, {-2}}), {}, 1);
  for (const lab::Arithmetic arithmetic : arithmetics) {
    EXPECT_TRUE(result[arithmetic].holds);
    EXPECT_EQ(result[arithmetic].margin, infinity);
    EXPECT_EQ(result[arithmetic].worst_row, -1);
  }
  EXPECT_EQ(result.norm_product, 14);
  EXPECT_EQ(result.max_logit, 14);
}

TEST(Verify, CausalRowsSeeNoLaterKey) {
  // Key 1 would violate row 0, where its logit exceeds that of key 0.
  const lab::Pattern pattern = pattern_of({2, 2, {1, 0, 0, 1}});
  const lab::Witness witness = witness_of({2, 1, {1, 1}}, {2, 1, {-9, 5}});
  lab::Conditions conditions;
  EXPECT_EQ(lab::verify(pattern, witness, conditions, 1)[lab::Arithmetic::exact].failing_rows, 1);
  conditions.causal = true;
  const lab::Verification causal = lab::verify(pattern, witness, conditions, 1);
  EXPECT_TRUE(causal.holds());
  EXPECT_EQ(causal.max_logit, 9);
}

TEST(Verify, BothFormsMustHold) {
  const lab::Pattern pattern = pattern_of({2, 2, {1, 0, 0, 1}});
  lab::Witness witness = witness_of({2, 2, {9, 0, 0, 9}}, {2, 2, {1, 0, 0, 1}});
  EXPECT_TRUE(lab::verify(pattern, witness, {}, 1).holds());
  witness.x = tensor_of({2, 1, {1, 1}}, DType::f32);
  witness.w_q = tensor_of({1, 1, {1}}, DType::f32);
  witness.w_k = tensor_of({1, 1, {1}}, DType::f64);
  const lab::Verification both = lab::verify(pattern, witness, {}, 1);
  EXPECT_FALSE(both.holds());
  EXPECT_EQ(both[lab::Arithmetic::exact].failing_rows, 2);
}

TEST(Verify, ReportsProgressOnTheCallingThreadAndCanBeStopped) {
  const lab::Pattern pattern = pattern_of({2, 2, {1, 0, 0, 1}});
  const lab::Witness witness = witness_of({2, 2, {9, 0, 0, 9}}, {2, 2, {1, 0, 0, 1}});
  double last = 0;
  (void)lab::verify(pattern, witness, {}, 1, [&last](double done, double total) {
    last = done / total;
    return true;
  });
  EXPECT_EQ(last, 1);
  try {
    (void)lab::verify(pattern, witness, {}, 1, [](double, double) { return false; });
    FAIL() << "not stopped";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), Code::cancelled);
  }
}

TEST(Verify, NormProductsNeitherOverflowNorVanish) {
  const Matrix a{1, 2, {1, 0}};
  lab::Conditions weak;
  weak.weak = true;
  const VerifyCase far{pattern_of(a),
                       witness_of(Matrix{1, 1, {1e200}}, Matrix{2, 1, {2e-200, 1e-200}}), weak};
  EXPECT_NEAR(verify_case(far).norm_product, 2, 1e-12);
  const VerifyCase zero{pattern_of(a), witness_of(Matrix{1, 1, {1e300}}, Matrix{2, 1, {0, 0}}),
                        weak};
  EXPECT_EQ(verify_case(zero).norm_product, 0);
}

}  // namespace
}  // namespace tamis::test
