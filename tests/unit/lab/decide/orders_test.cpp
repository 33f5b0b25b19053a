// Order proofs found with cadical: they never contradict a witness, always pass the checker,
// and are short.
#include "lab/decide/orders/orders.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <set>

#include "lab/decide/orders/choose_elements.h"
#include "lab/decide/orders/order_formula.h"
#include "lab/verify/order_proof.h"
#include "support/lab/hours.h"
#include "support/lab/orderings.h"
#include "support/lab/signs.h"

namespace tamis::test {
namespace {

std::uint64_t any_seed() {
  return *rc::gen::resize(rc::kNominalSize, rc::gen::arbitrary<std::uint64_t>());
}

lab::decision::Side side_of(const lab::decision::SignMatrix& signs, bool of_columns) {
  return of_columns ? lab::decision::side_of_columns(signs) : lab::decision::side_of_rows(signs);
}

lab::decision::OrdersAnswer answer(const lab::Pattern& pattern, std::int64_t dim, bool of_columns) {
  Hours hours;
  const lab::decision::SignMatrix signs = *lab::decision::sign_matrix(pattern);
  return lab::decision::find_order_proof(signs, side_of(signs, of_columns), dim, 0, hours.part());
}

/// Whether the pattern is refuted. The test fails if no answer came or the checker
/// rejects the proof.
bool refuted(const lab::Pattern& pattern, std::int64_t dim, bool of_columns) {
  const lab::decision::OrdersAnswer found = answer(pattern, dim, of_columns);
  if (const auto* unknown = std::get_if<lab::decision::OrdersUnknown>(&found))
    ADD_FAILURE() << unknown->why;
  const auto* proof = std::get_if<lab::OrderProof>(&found);
  if (proof == nullptr) return false;
  const lab::RefutationCheck check = lab::verification::check_order_proof(pattern, dim, *proof);
  EXPECT_TRUE(check.holds) << check.why;
  return true;
}

TEST(Orders, OnALineDecideEveryKindOfThreeRowsAndColumns) {
  SKIP_WITHOUT_CADICAL();
  for (std::uint64_t bits = 0; bits < 512; ++bits) {
    const std::vector<std::uint64_t> rows{bits & 7U, bits >> 3 & 7U, bits >> 6};
    if (rows[0] == 0 || rows[0] > rows[1] || rows[1] > rows[2])
      continue;  // the order of rows gives no condition
    const lab::Pattern pattern = pattern_of_bits(rows, 3);
    EXPECT_NE(refuted(pattern, 1, bits % 2 == 0), fits_on_a_line(pattern)) << bits;
  }
}

TEST(Orders, OnALineDecideRandomPatternsOfFourAndFiveColumns) {
  SKIP_WITHOUT_CADICAL();
  Dice dice(7);
  int fit = 0;
  for (int i = 0; i < 40; ++i) {
    const std::int64_t size = 4 + i % 2;
    const lab::Pattern pattern =
        i % 4 < 2 ? random_half(dice, 4, size) : planted_halfspaces(dice, 5, size, 1);
    const bool fits = fits_on_a_line(pattern);
    fit += fits ? 1 : 0;
    EXPECT_NE(refuted(pattern, 1, true), fits) << i;
    EXPECT_NE(refuted(pattern, 1, false), fits) << i;
  }
  EXPECT_GT(fit, 5);
  EXPECT_LT(fit, 35);
}

TEST(Orders, NeverRefuteAPlantedWitness) {
  SKIP_WITHOUT_CADICAL();
  EXPECT_TRUE(rc::check([] {
    Dice dice(any_seed());
    const std::int64_t dim = 1 + dice.below(3);
    const bool of_columns = dice.coin();
    const std::int64_t elements = dim + 2 + dice.below(5);
    const std::int64_t cuts = 4 + dice.below(30);
    const lab::Pattern pattern = of_columns ? planted_halfspaces(dice, cuts, elements, dim)
                                            : planted_halfspaces(dice, elements, cuts, dim);
    RC_ASSERT(!refuted(pattern, dim, of_columns));
  }));
}

TEST(Orders, AllPairsOfSixColumnsNeedFourDimensionsAndOfFiveThree) {
  SKIP_WITHOUT_CADICAL();
  EXPECT_TRUE(refuted(all_pairs(6), 3, true));
  EXPECT_FALSE(refuted(all_pairs(6), 4, true));
  EXPECT_TRUE(refuted(all_pairs(5), 2, true));
  EXPECT_FALSE(refuted(all_pairs(5), 3, true));
}

TEST(Orders, RefuteRandomPatternsThatHaveNoFullSet) {
  SKIP_WITHOUT_CADICAL();
  // 13 rows (with the row of ones) or 12 columns are fewer than the 2^4 splits of 5 elements.
  Dice dice(3);
  EXPECT_TRUE(refuted(random_half(dice, 12, 12), 3, true));
}

TEST(Orders, NameOnlyTheElementsAndCutsThatMatter) {
  SKIP_WITHOUT_CADICAL();
  // Every column occurs twice. All pairs of six columns cut five of them in all 16 ways.
  std::vector<std::uint64_t> rows;
  for (unsigned a = 0; a < 6; ++a)
    for (unsigned b = a + 1; b < 6; ++b) rows.push_back(3ULL << (2 * a) | 3ULL << (2 * b));
  const lab::Pattern pattern = pattern_of_bits(rows, 12);
  const lab::decision::OrdersAnswer found = answer(pattern, 3, true);
  const auto* proof = std::get_if<lab::OrderProof>(&found);
  ASSERT_NE(proof, nullptr);
  EXPECT_TRUE(lab::verification::check_order_proof(pattern, 3, *proof).holds);
  EXPECT_EQ(proof->elements.size(), 5U);
  EXPECT_EQ(proof->cuts.size(), 16U);
}

TEST(Orders, NeedEveryElementThatTheyName) {
  SKIP_WITHOUT_CADICAL();
  Dice dice(11);
  const lab::Pattern pattern = random_half(dice, 9, 9);
  const lab::decision::OrdersAnswer found = answer(pattern, 2, true);
  const auto* proof = std::get_if<lab::OrderProof>(&found);
  ASSERT_NE(proof, nullptr);
  const std::size_t size = proof->elements.size();
  for (std::size_t out = 0; out < size; ++out) {
    std::vector<std::uint64_t> rows;
    for (std::int64_t r = 0; r < pattern.rows; ++r) {
      std::uint64_t row = 0;
      for (std::size_t e = 0, place = 0; e < size; ++e) {
        if (e == out) continue;
        const auto columns = pattern.columns_of(r);
        if (std::binary_search(columns.begin(), columns.end(), proof->elements[e]))
          row |= 1ULL << place;
        ++place;
      }
      if (row != 0) rows.push_back(row);  // otherwise it is the complement of the row of ones
    }
    const lab::Pattern fewer = pattern_of_bits(rows, static_cast<std::int64_t>(size) - 1);
    EXPECT_FALSE(refuted(fewer, 2, true)) << out;
  }
}

TEST(Orders, ProofsFailWithoutAStepOrACutOrWithAnotherElement) {
  SKIP_WITHOUT_CADICAL();
  Dice dice(5);
  const lab::Pattern pattern = random_half(dice, 9, 12);
  const lab::decision::OrdersAnswer found = answer(pattern, 2, true);
  const auto* proof = std::get_if<lab::OrderProof>(&found);
  ASSERT_NE(proof, nullptr);
  ASSERT_TRUE(lab::verification::check_order_proof(pattern, 2, *proof).holds);
  lab::OrderProof other = *proof;
  other.clauses.erase(other.clauses.begin(), other.clauses.end() - 1);
  EXPECT_FALSE(lab::verification::check_order_proof(pattern, 2, other).holds);
  other = *proof;
  other.cuts.resize(1);
  EXPECT_FALSE(lab::verification::check_order_proof(pattern, 2, other).holds);
  other = *proof;
  other.elements.pop_back();
  EXPECT_FALSE(lab::verification::check_order_proof(pattern, 2, other).holds);
  other = *proof;
  other.of_columns = false;
  EXPECT_FALSE(lab::verification::check_order_proof(pattern, 2, other).holds);
  // A first step that claims too much: only the first variable is fixed so far.
  for (const std::int32_t literal : {2, -2}) {
    other = *proof;
    other.clauses.insert(other.clauses.begin(), {literal});
    EXPECT_EQ(lab::verification::check_order_proof(pattern, 2, other).why,
              "clause 0 does not follow by unit propagation from those before it");
  }
}

TEST(Orders, OfManyColumnsTakeThoseThatTell) {
  SKIP_WITHOUT_CADICAL();
  // All pairs of six columns, among sixty columns of a diagonal.
  std::vector<std::uint64_t> rows;
  for (unsigned a = 0; a < 6; ++a)
    for (unsigned b = a + 1; b < 6; ++b) rows.push_back(1ULL << (9 * a + 5) | 1ULL << (9 * b + 5));
  for (unsigned j = 0; j < 60; ++j) rows.push_back(1ULL << j);
  const lab::Pattern pattern = pattern_of_bits(rows, 60);
  EXPECT_TRUE(refuted(pattern, 3, true));
}

TEST(Orders, OfElementsNotMoreThanTheRankExist) {
  Dice dice(1);
  const lab::Pattern pattern = random_half(dice, 9, 4);
  EXPECT_TRUE(std::holds_alternative<lab::decision::OrdersExist>(answer(pattern, 3, true)));
  EXPECT_TRUE(std::holds_alternative<lab::decision::OrdersExist>(answer(pattern, 1000, true)));
  EXPECT_TRUE(std::holds_alternative<lab::decision::OrdersExist>(answer(pattern, 9, false)));
}

TEST(Orders, SayWhatKeptThemFromAnAnswer) {
  Dice dice(1);
  const lab::decision::OrdersAnswer many = answer(random_half(dice, 9, 40), 30, true);
  ASSERT_TRUE(std::holds_alternative<lab::decision::OrdersUnknown>(many));
  EXPECT_EQ(std::get<lab::decision::OrdersUnknown>(many).why, "30 dimensions are too many");

  const ProgressCallback stop = [](double, double) { return false; };
  lab::decision::Clock clock(1e5, stop);
  lab::decision::Clock::Part part(clock, 1e5);
  const lab::decision::OrdersAnswer stopped = lab::decision::find_order_proof(
      *lab::decision::sign_matrix(random_half(dice, 9, 9)), 2, 0, part);
  ASSERT_TRUE(std::holds_alternative<lab::decision::OrdersUnknown>(stopped));
  EXPECT_EQ(std::get<lab::decision::OrdersUnknown>(stopped).why, "the time was over");
}

TEST(Orders, OfAShortCycleAmongManyColumnsAreRefutedInThePlane) {
  SKIP_WITHOUT_CADICAL();
  // Rows are the edges of two cycles, of 4 and of 44 columns. The four columns of the short cycle
  // are in convex position, and a fifth column lies beyond one of its edges. Most sets of columns
  // give no contradiction, and all 48 columns give too many relations.
  std::vector<std::uint64_t> rows;
  for (unsigned j = 0; j < 4; ++j) rows.push_back(1ULL << j | 1ULL << (j + 1) % 4);
  for (unsigned j = 0; j < 44; ++j) rows.push_back(1ULL << (4 + j) | 1ULL << (4 + (j + 1) % 44));
  const lab::Pattern pattern = pattern_of_bits(rows, 48);
  const lab::decision::OrdersAnswer found = answer(pattern, 2, true);
  const auto* proof = std::get_if<lab::OrderProof>(&found);
  ASSERT_NE(proof, nullptr);
  EXPECT_TRUE(lab::verification::check_order_proof(pattern, 2, *proof).holds);
  EXPECT_EQ(proof->elements.size(), 5U);
}

TEST(Orders, AreTheSameForASeed) {
  SKIP_WITHOUT_CADICAL();
  Dice dice(2);
  const lab::Pattern pattern = random_half(dice, 12, 12);
  const lab::decision::OrdersAnswer once = answer(pattern, 2, true);
  const lab::decision::OrdersAnswer again = answer(pattern, 2, true);
  const auto* first = std::get_if<lab::OrderProof>(&once);
  const auto* second = std::get_if<lab::OrderProof>(&again);
  ASSERT_NE(first, nullptr);
  ASSERT_NE(second, nullptr);
  EXPECT_EQ(first->elements, second->elements);
  EXPECT_EQ(first->cuts, second->cuts);
  EXPECT_EQ(first->clauses, second->clauses);
}

TEST(OrderFormula, HasTheClausesOfTheDefinition) {
  // Rank 2, four elements, one cut: one clause for the first variable, and 2 for each
  // of 4 triples.
  const std::uint64_t cuts[] = {0b0101};
  const lab::decision::OrderFormula formula = lab::decision::order_formula(4, 2, cuts);
  EXPECT_EQ(formula.formula.variables, 6);
  EXPECT_EQ(formula.formula.clauses, 1 + 2 * 4);
  EXPECT_EQ(static_cast<double>(formula.formula.clauses),
            1 + lab::decision::circuit_clauses(4, 1, 2));
  EXPECT_EQ(formula.tuples,
            (std::vector<std::uint64_t>{0b0011, 0b0101, 0b0110, 0b1001, 0b1010, 0b1100}));
  EXPECT_EQ(std::count(formula.formula.literals.begin(), formula.formula.literals.end(), 0),
            formula.formula.clauses);
}

/// Whether the values satisfy every clause.
bool kept(const lab::decision::Formula& formula, const std::vector<bool>& values) {
  bool clause = false;
  for (const std::int32_t literal : formula.literals) {
    if (literal == 0 && !clause) return false;
    clause = literal != 0 &&
             (clause || values[static_cast<std::size_t>(std::abs(literal)) - 1] == (literal > 0));
  }
  return true;
}

TEST(OrderFormula, OfFourVectorsOfThePlaneForbidsJustWhatNoneHave) {
  // Rank 2 without cuts has one relation.
  std::set<std::vector<bool>> allowed;
  lab::decision::OrderFormula all = lab::decision::order_formula(4, 2, {});
  std::vector<std::vector<bool>> every;
  for (unsigned bits = 0; bits < 64; ++bits) {
    std::vector<bool>& values = every.emplace_back();
    for (unsigned v = 0; v < 6; ++v) values.push_back((bits >> v & 1U) != 0);
  }
  for (const auto& values : every) {
    lab::decision::OrderFormula formula = lab::decision::order_formula(4, 2, {});
    const std::int64_t broken = lab::decision::add_broken_relations(formula, 4, 2, values);
    EXPECT_LE(broken, 1);
    EXPECT_EQ(formula.formula.clauses, 1 + 16 * broken);
    if (broken == 0 && values[0]) allowed.insert(values);
    if (broken == 1) all = formula;
  }
  for (const auto& values : every) EXPECT_EQ(kept(all.formula, values), allowed.count(values) == 1);
  // Vectors of the plane: their lines in any order, each vector in either direction.
  std::set<std::vector<bool>> real;
  std::vector<double> place{0, 1, 2, 3};
  do {
    for (unsigned turned = 0; turned < 16; ++turned) {
      const auto sign = [&](std::size_t i, std::size_t j) {
        return (place[i] < place[j]) == ((turned >> i & 1U) == (turned >> j & 1U));
      };
      const std::vector<bool> values{sign(0, 1), sign(0, 2), sign(1, 2),
                                     sign(0, 3), sign(1, 3), sign(2, 3)};
      if (values[0]) real.insert(values);
    }
  } while (std::next_permutation(place.begin(), place.end()));
  EXPECT_EQ(allowed, real);
}

RC_GTEST_PROP(OrderFormula, RelationsHoldForVectors, ()) {
  // Points of the moment curve, in any order and with any signs.
  Dice dice(any_seed());
  const std::int64_t rank = 2 + dice.below(3);
  const auto elements = static_cast<std::size_t>(rank + 2 + dice.below(3));
  std::vector<double> place(elements);
  std::vector<bool> turned(elements);
  for (std::size_t e = 0; e < elements; ++e) {
    place[e] = dice.normal();
    turned[e] = dice.coin();
  }
  lab::decision::OrderFormula formula =
      lab::decision::order_formula(static_cast<std::int64_t>(elements), rank, {});
  std::vector<bool> values;
  for (const std::uint64_t tuple : formula.tuples) {
    bool positive = true;
    for (std::size_t i = 0; i < elements; ++i) {
      if ((tuple >> i & 1U) == 0) continue;
      if (turned[i]) positive = !positive;
      for (std::size_t j = 0; j < i; ++j)
        if ((tuple >> j & 1U) != 0 && place[i] < place[j]) positive = !positive;
    }
    values.push_back(positive);
  }
  RC_ASSERT(lab::decision::add_broken_relations(formula, static_cast<std::int64_t>(elements), rank,
                                                values) == 0);
  RC_ASSERT(formula.formula.clauses == 1);
}

RC_GTEST_PROP(TellingElements, TellMostOrLeastClassesApart, ()) {
  Dice dice(any_seed());
  const lab::decision::SignMatrix signs =
      *lab::decision::sign_matrix(random_half(dice, 2 + dice.below(80), 3 + dice.below(8)));
  const lab::decision::Side side = side_of(signs, dice.coin());
  Hours hours;
  const lab::decision::Tell tell =
      dice.coin() ? lab::decision::Tell::most : lab::decision::Tell::least;
  const auto chosen = lab::decision::telling_elements(
      side, 5, tell, lab::numbers::Stream(any_seed(), lab::numbers::Purpose::test, 0),
      hours.part());
  RC_ASSERT(chosen.size() == static_cast<std::size_t>(std::min<std::int64_t>(5, side.elements)));
  const auto classes = [&](const std::vector<std::int64_t>& of) {
    std::set<std::vector<bool>> seen;
    for (std::int64_t cut = 0; cut < side.cuts; ++cut) {
      std::vector<bool> relative;
      for (const std::int64_t e : of) relative.push_back(side.at(e, cut) != side.at(of[0], cut));
      seen.insert(relative);
    }
    return seen.size();
  };
  std::vector<std::int64_t> before{chosen[0]};
  for (std::size_t i = 1; i < chosen.size(); ++i) {
    std::set<std::size_t> counts;
    for (std::int64_t e = 0; e < side.elements; ++e) {
      if (std::count(before.begin(), before.end(), e) > 0) continue;
      auto with = before;
      with.push_back(e);
      counts.insert(classes(with));
    }
    RC_ASSERT(std::count(before.begin(), before.end(), chosen[i]) == 0);
    before.push_back(chosen[i]);
    RC_ASSERT(classes(before) ==
              (tell == lab::decision::Tell::most ? *counts.rbegin() : *counts.begin()));
  }
}

}  // namespace
}  // namespace tamis::test
