// Closed-form witnesses: exact on every pattern that f64 can represent, and refused on others.
#include "lab/realise/curve/moment.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include <tamis/lab/generate.h>
#include "lab/realise/curve/spread.h"
#include "support/io_files.h"
#include "support/lab/witnesses.h"

namespace tamis::test {
namespace {

std::uint64_t any_seed() {
  return *rc::gen::resize(rc::kNominalSize, rc::gen::arbitrary<std::uint64_t>());
}

lab::Witness made_of(const lab::realisation::Candidate& c, DType dtype = DType::f64) {
  return witness_of({c.rows, c.dim, c.q}, {c.cols, c.dim, c.k}, dtype);
}

lab::Verification verified(const lab::Pattern& pattern, const lab::Conditions& conditions,
                           lab::Arithmetic hold_in = lab::Arithmetic::f64,
                           DType dtype = DType::f64) {
  return lab::verify(pattern,
                     made_of(lab::realisation::moment(pattern, conditions, hold_in, 1), dtype),
                     conditions, 1);
}

/// Rows of 1 to k nonzeros with values from 1 to 1000. If k allows it, every fifth pattern has a
/// row without zeros.
lab::Pattern rectangular_pattern(Dice& dice, std::int64_t rows, std::int64_t cols, std::int64_t k) {
  Matrix matrix{rows, cols, std::vector<double>(static_cast<std::size_t>(rows * cols))};
  for (std::int64_t i = 0; i < rows; ++i)
    for (std::int64_t s = 1 + dice.below(k); s > 0; --s)
      matrix.values[static_cast<std::size_t>(i * cols + dice.below(cols))] =
          std::pow(10, static_cast<double>(dice.below(4)));
  return pattern_of(matrix);
}

RC_GTEST_PROP(Moment, WitnessesHoldExactlyAndInF64, ()) {
  const std::uint64_t seed = any_seed();
  Dice dice(seed);
  const auto k = *rc::gen::inRange<std::int64_t>(1, 6);
  const auto n = *rc::gen::inRange<std::int64_t>(k, 201);
  const auto shape = *rc::gen::inRange(0, 3);
  lab::Conditions conditions;
  conditions.causal = shape == 1;
  conditions.weak = dice.below(4) == 0;
  conditions.eps1 = dice.coin() ? 0.1 : 1e-6;
  conditions.eps2 = dice.coin() ? 1 : 1e-3;
  const lab::Pattern pattern = shape == 0   ? lab::permutations_pattern(n, k, 2, seed)
                               : shape == 1 ? lab::causal_pattern(n, k, 3, seed)
                                            : rectangular_pattern(dice, 1 + dice.below(60), n, k);
  const lab::realisation::Candidate candidate =
      lab::realisation::moment(pattern, conditions, lab::Arithmetic::f64, 1);
  RC_ASSERT(candidate.dim == 2 * lab::figures_of(pattern).most_per_row);
  const lab::Verification result = lab::verify(pattern, made_of(candidate), conditions, 1);
  RC_ASSERT(result.holds());
  RC_ASSERT(result[lab::Arithmetic::f64].holds);
}

RC_GTEST_PROP(Moment, AWitnessWithOneEntryBeyondItsMarginDoesNotHold, ()) {
  const std::uint64_t seed = any_seed();
  const auto n = *rc::gen::inRange<std::int64_t>(4, 100);
  const lab::Pattern pattern = lab::permutations_pattern(n, 2, 2, seed);
  lab::realisation::Candidate candidate =
      lab::realisation::moment(pattern, {}, lab::Arithmetic::f64, 1);
  const lab::Checked before =
      lab::verify(pattern, made_of(candidate), {}, 1)[lab::Arithmetic::exact];
  RC_ASSERT(before.holds);
  // The zero and the nonzero of that row that are nearest to their limit.
  const auto row = static_cast<std::size_t>(before.worst_row);
  const auto dim = static_cast<std::size_t>(candidate.dim);
  const auto key = [&](std::int64_t j, std::size_t c) {
    return candidate.k[static_cast<std::size_t>(j) * dim + c];
  };
  const auto logit = [&](std::int64_t j) {
    double sum = 0;
    for (std::size_t c = 0; c < dim; ++c) sum += candidate.q[row * dim + c] * key(j, c);
    return sum;
  };
  const auto columns = pattern.columns_of(before.worst_row);
  const std::int64_t nonzero = *std::ranges::min_element(columns, {}, logit);
  std::int64_t zero = -1;
  for (std::int64_t j = 0; j < n; ++j)
    if (!std::ranges::binary_search(columns, j) && (zero < 0 || logit(j) > logit(zero))) zero = j;
  std::size_t entry = 0;
  const auto lever = [&](std::size_t c) { return key(zero, c) - key(nonzero, c); };
  for (std::size_t c = 1; c < dim; ++c)
    if (std::abs(lever(c)) > std::abs(lever(entry))) entry = c;
  candidate.q[row * dim + entry] += 2 * before.margin / lever(entry);
  const lab::Checked after =
      lab::verify(pattern, made_of(candidate), {}, 1)[lab::Arithmetic::exact];
  RC_ASSERT(!after.holds);
  RC_ASSERT(after.worst_row == before.worst_row);
}

TEST(Moment, DoesNotDependOnTheNumberOfThreads) {
  const lab::Pattern pattern = lab::permutations_pattern(200, 3, 2, 4);
  const lab::realisation::Candidate one =
      lab::realisation::moment(pattern, {}, lab::Arithmetic::f32, 1);
  const lab::realisation::Candidate many =
      lab::realisation::moment(pattern, {}, lab::Arithmetic::f32, 5);
  EXPECT_TRUE(one.q == many.q && one.k == many.k);
}

TEST(Moment, OnACircleF32HoldsSizesBeyondThoseOfPlainOrder) {
  struct Size {
    std::int64_t n, k;
  };
  for (const auto& [n, k] : {Size{1024, 1}, Size{512, 2}, Size{128, 3}, Size{24, 3}}) {
    const lab::Pattern pattern = lab::permutations_pattern(n, k, 2, 1);
    const lab::Verification result = verified(pattern, {}, lab::Arithmetic::f32);
    EXPECT_TRUE(result[lab::Arithmetic::f32].holds && result[lab::Arithmetic::f64].holds &&
                result.holds())
        << n << ' ' << k << ": " << arithmetic_shortfall(result);
    EXPECT_EQ(arithmetic_shortfall(result), "");
    // It also holds when stored as f32.
    EXPECT_TRUE(verified(pattern, {}, lab::Arithmetic::f32, DType::f32).holds()) << n << ' ' << k;
  }
}

TEST(Moment, AllPairsNeedFourDimensions) {
  const lab::Pattern pattern = lab::pairs_pattern(40);
  const lab::Verification result = verified(pattern, {});
  EXPECT_TRUE(result.holds());
  EXPECT_TRUE(result[lab::Arithmetic::f64].holds);
}

TEST(Moment, HoldsExactlyWhereManyNonzerosArePastTheReachOfF32) {
  const lab::Pattern wide = lab::banded_pattern(64, 10, false);  // 21 nonzeros per row
  const lab::Verification result = verified(wide, {});
  EXPECT_TRUE(result.holds());
  const std::string missing = arithmetic_shortfall(result);
  EXPECT_TRUE(missing.starts_with("f32 cannot hold the margin (")) << missing;
  EXPECT_EQ(missing.find("the rounded numbers themselves"), std::string::npos) << missing;
}

TEST(Moment, RefusesWhatF64CannotEvenWrite) {
  Matrix row{1, 2400, std::vector<double>(2400)};
  for (std::size_t j = 0; j < 2400; j += 2) row.values[j] = 1;
  EXPECT_EQ(
      sentence(
          [&] { (void)lab::realisation::moment(pattern_of(row), {}, lab::Arithmetic::f64, 1); },
          Code::usage),
      "row 0 of the pattern (from 0) has 1200 nonzeros among 2400 columns, for which the moment "
      "curve needs logits beyond f64; take another method");
}

TEST(Moment, RefusesWhatIsNotCausal) {
  lab::Conditions causal;
  causal.causal = true;
  EXPECT_EQ(
      sentence([&] {
        (void)lab::realisation::moment(lab::pairs_pattern(3), causal, lab::Arithmetic::f64, 1);
      }),
      "the pattern has a nonzero at row 0, column 1 (from 0), above the diagonal; a causal pattern "
      "has none");
}

TEST(Curve, QueriesEvaluateTheProduct) {
  const lab::realisation::Curve curve(11, 3);
  const std::vector<std::int64_t> set{1, 4, 9};
  std::vector<long double> query(6);
  curve.add_product(set, 2, query);
  std::vector<double> key(6);
  const auto value = [&](std::int64_t p) {
    curve.key(p, key);
    return std::inner_product(key.begin(), key.end(), query.begin(), 0.0L);
  };
  const long double constant = value(1);  // the product is zero there
  for (std::int64_t p = 0; p < 11; ++p) {
    const double product = 2 * curve.gap(p, 1) * curve.gap(p, 4) * curve.gap(p, 9);
    // Rounding of six keys to f64, with coefficients below 2^8.
    EXPECT_NEAR(static_cast<double>(value(p) - constant), product, 12 * 0x1p-45);
    EXPECT_EQ(product == 0, std::ranges::count(set, p) == 1);
    EXPECT_LE(std::sqrt(std::inner_product(key.begin(), key.end(), key.begin(), 0.0)),
              curve.key_norm());
  }
}

RC_GTEST_PROP(Spread, OrdersAreOrdersAndNeverWorseThanTheFirst, ()) {
  const auto n = *rc::gen::inRange<std::int64_t>(2, 120);
  const auto k = *rc::gen::inRange<std::int64_t>(2, std::min<std::int64_t>(n, 4) + 1);
  const lab::Pattern pattern = lab::permutations_pattern(n, k, 1, any_seed());
  const lab::realisation::Curve curve(n, k);
  const std::vector<std::int64_t> position = lab::realisation::spread_columns(pattern, curve);
  std::vector<std::int64_t> sorted = position;
  std::ranges::sort(sorted);
  for (std::int64_t p = 0; p < n; ++p) RC_ASSERT(sorted[static_cast<std::size_t>(p)] == p);
  const auto cost = [&](const auto& place) {
    double sum = 0;
    for (std::int64_t row = 0; row < n; ++row) {
      const auto columns = pattern.columns_of(row);
      double worst = 0;
      for (const std::int64_t a : columns) {
        double product = 1;
        for (const std::int64_t b : columns)
          if (a != b) product *= curve.gap(place(a), place(b));
        worst = std::max(worst, 1 / product);
      }
      if (columns.size() > 1) sum += worst * worst;
    }
    return sum;
  };
  const double spread = cost([&](std::int64_t j) { return position[static_cast<std::size_t>(j)]; });
  // The search updates the sum by differences, whose rounding it may be off by.
  RC_ASSERT(spread <= cost([](std::int64_t j) { return j; }) * (1 + 1e-9));
}

TEST(Spread, PairsOfARandomPatternEndUpOppositeEachOther) {
  const lab::Pattern pattern = lab::permutations_pattern(1000, 2, 1, 3);
  const lab::realisation::Curve curve(1000, 2);
  const std::vector<std::int64_t> position = lab::realisation::spread_columns(pattern, curve);
  for (std::int64_t row = 0; row < 1000; ++row) {
    const auto columns = pattern.columns_of(row);
    if (columns.size() < 2) continue;
    // 1 − cos ≥ 0.5: at least 60 degrees apart.
    EXPECT_GE(curve.gap(position[static_cast<std::size_t>(columns[0])],
                        position[static_cast<std::size_t>(columns[1])]),
              0.5)
        << row;
  }
}

}  // namespace
}  // namespace tamis::test
