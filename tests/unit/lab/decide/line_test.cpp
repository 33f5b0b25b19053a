// Deciding dimension 1: every answer proves itself, and all small matrices are compared
// with brute force.
#include "lab/decide/line/line.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <array>

#include <tamis/error.h>
#include "support/lab/lines.h"
#include "support/lab/orderings.h"
#include "support/lab/printed_algorithm.h"
#include "support/lab/relations.h"

namespace tamis::test {
namespace {

using Hidden = std::optional<std::int64_t>;

std::uint64_t any_seed() {
  return *rc::gen::resize(rc::kNominalSize, rc::gen::arbitrary<std::uint64_t>());
}

bool is_yes(const std::variant<lab::Witness, lab::Refutation>& answer) {
  return std::holds_alternative<lab::Witness>(answer);
}

template <class Grounds>
bool has_grounds(const std::variant<lab::Witness, lab::Refutation>& answer) {
  return !is_yes(answer) &&
         std::holds_alternative<Grounds>(std::get<lab::Refutation>(answer).grounds);
}

/// Calls body(matrix, rows) for every n × n matrix with a one in every row, and returns the number
/// of these matrices.
template <class Body>
int for_each_matrix(int n, Body&& body) {
  int matrices = 0;
  for (std::uint32_t matrix = 0; matrix < 1U << (n * n); ++matrix) {
    const RowSets rows = rows_of(matrix, n);
    if (std::ranges::count(rows, 0U) > 0) continue;
    body(matrix, rows);
    ++matrices;
  }
  return matrices;
}

void expect_yes(const Matrix& matrix, Hidden hidden = {}) {
  const lab::Pattern pattern = pattern_of(matrix);
  const auto answer = lab::decision::decide_line(pattern, hidden);
  EXPECT_TRUE(is_yes(answer));
  EXPECT_EQ(flaw_of(pattern, answer, hidden), "");
}

template <class Grounds>
void expect_no(const Matrix& matrix, Hidden hidden = {}) {
  const lab::Pattern pattern = pattern_of(matrix);
  const auto answer = lab::decision::decide_line(pattern, hidden);
  EXPECT_TRUE(has_grounds<Grounds>(answer));
  EXPECT_EQ(flaw_of(pattern, answer, hidden), "");
}

const Matrix counterexample{3, 3, {1, 0, 0, 0, 0, 1, 1, 1, 1}};

TEST(Line, EveryMatrixUpToFourIsDecidedAsBruteForceDecidesItAndEveryAnswerProvesItself) {
  constexpr std::array matrices{9, 343, 50625};
  for (const Hidden hidden : {Hidden(), Hidden(1), Hidden(2)})
    for (int n = 2; n <= 4; ++n) {
      const std::vector<bool> realised = realised_by_orderings(n, hidden == 1);
      int errors = 0;
      int flaws = 0;
      EXPECT_EQ(for_each_matrix(n,
                                [&](std::uint32_t matrix, const RowSets& rows) {
                                  const lab::Pattern pattern = pattern_of(rows);
                                  const auto answer = lab::decision::decide_line(pattern, hidden);
                                  errors += is_yes(answer) != realised[matrix] ? 1 : 0;
                                  flaws += flaw_of(pattern, answer, hidden).empty() ? 0 : 1;
                                }),
                matrices[static_cast<std::size_t>(n - 2)]);
      EXPECT_EQ(errors, 0) << "n = " << n << ", hidden " << hidden.value_or(0);
      EXPECT_EQ(flaws, 0) << "n = " << n << ", hidden " << hidden.value_or(0);
    }
}

TEST(Line, ThePrintedAlgorithmErrsInItsLastStepsAloneAndOnlyByDenying) {
  constexpr std::array wrongly_denied{0, 12, 1168};
  for (int n = 2; n <= 4; ++n) {
    const std::vector<bool> free = realised_by_orderings(n, false);
    const std::vector<bool> tied = realised_by_orderings(n, true);
    int denied = 0;
    int other = 0;
    int without_row_of_ones = 0;
    for_each_matrix(n, [&](std::uint32_t matrix, const RowSets& rows) {
      const bool wrong = printed_algorithm(rows, 1) != tied[matrix];
      denied += wrong && tied[matrix] ? 1 : 0;
      other += (wrong && !tied[matrix]) || printed_algorithm(rows, 2) != free[matrix] ? 1 : 0;
      without_row_of_ones += wrong && std::ranges::count(rows, (1U << n) - 1) == 0 ? 1 : 0;
    });
    EXPECT_EQ(denied, wrongly_denied[static_cast<std::size_t>(n - 2)]);
    EXPECT_EQ(other, 0);
    EXPECT_EQ(without_row_of_ones, 0);
  }
}

TEST(Line, TheCounterexampleIsRealisedThoughThePrintedAlgorithmDeniesIt) {
  EXPECT_FALSE(printed_algorithm({0b001, 0b100, 0b111}, 1));
  lab::Witness witness;
  witness.x = tensor_of(Matrix{3, 1, {1, -1, -2}}, DType::f32);
  witness.w_q = tensor_of(Matrix{1, 1, {1}}, DType::f32);
  witness.w_k = tensor_of(Matrix{1, 1, {1}}, DType::f32);
  witness.made_for.weak = true;
  EXPECT_TRUE(lab::verify(pattern_of(counterexample), witness, witness.made_for, 1).holds());
  expect_yes(counterexample, 1);
}

RC_GTEST_PROP(Line, PlantedLinesAreFoundOfAnyShape, ()) {
  Dice dice(any_seed());
  const auto rows = *rc::gen::inRange<std::int64_t>(1, 51);
  const auto cols = *rc::gen::inRange<std::int64_t>(1, 51);
  const lab::Pattern pattern = pattern_of(planted_line(dice, rows, cols));
  const auto answer = lab::decision::decide_line(pattern, {});
  RC_ASSERT(is_yes(answer));
  RC_ASSERT(flaw_of(pattern, answer, {}) == "");
}

RC_GTEST_PROP(Line, PlantedProductsAreFoundWithHiddenSizeOneAndWithTwo, ()) {
  Dice dice(any_seed());
  const lab::Pattern pattern =
      pattern_of(planted_product(dice, *rc::gen::inRange<std::int64_t>(1, 51)));
  for (const std::int64_t hidden : {1, 2}) {
    const auto answer = lab::decision::decide_line(pattern, hidden);
    RC_ASSERT(is_yes(answer));
    RC_ASSERT(flaw_of(pattern, answer, hidden) == "");
  }
}

RC_GTEST_PROP(Line, PlantedCrossingsAndTriplesAreRefuted, ()) {
  Dice dice(any_seed());
  const auto rows = *rc::gen::inRange<std::int64_t>(3, 51);
  const bool square = *rc::gen::arbitrary<bool>();
  const auto cols =
      square ? std::max<std::int64_t>(rows, 4) : *rc::gen::inRange<std::int64_t>(4, 51);
  const auto plant = *rc::gen::element(planted_crossing, planted_triple);
  const lab::Pattern pattern = pattern_of(plant(dice, square ? cols : rows, cols));
  const Hidden hidden = square ? Hidden(1) : Hidden();
  const auto answer = lab::decision::decide_line(pattern, hidden);
  RC_ASSERT(has_grounds<lab::OddCircle>(answer));
  RC_ASSERT(flaw_of(pattern, answer, hidden) == "");
}

RC_GTEST_PROP(Line, PlantedConflictsAreRefutedForHiddenSizeOneOnly, ()) {
  Dice dice(any_seed());
  const lab::Pattern pattern =
      pattern_of(planted_conflict(dice, *rc::gen::inRange<std::int64_t>(3, 51)));
  const auto tied = lab::decision::decide_line(pattern, 1);
  RC_ASSERT(has_grounds<lab::SignConflict>(tied));
  RC_ASSERT(flaw_of(pattern, tied, 1) == "");
  const auto free = lab::decision::decide_line(pattern, {});
  RC_ASSERT(is_yes(free));
  RC_ASSERT(flaw_of(pattern, free, {}) == "");
}

RC_GTEST_PROP(Line, AChangedRefutationIsNotAccepted, ()) {
  Dice dice(any_seed());
  const lab::Pattern pattern =
      pattern_of(planted_conflict(dice, *rc::gen::inRange<std::int64_t>(3, 51)));
  lab::Refutation refutation = std::get<lab::Refutation>(lab::decision::decide_line(pattern, 1));
  lab::SignConflict& conflict = std::get<lab::SignConflict>(refutation.grounds);
  lab::SignOfC& sign = dice.coin() ? conflict.plus : conflict.minus;
  lab::Relation& relation = dice.coin() ? sign.apart : sign.turn;
  switch (dice.below(4)) {
    case 0:
      std::swap(relation.first, relation.second);
      break;
    case 1:
      relation.same = !relation.same;
      break;
    case 2:
      std::swap(conflict.plus, conflict.minus);
      break;
    default:
      refutation.hidden = std::nullopt;
  }
  RC_ASSERT(flaw_of(pattern, refutation) != "");
}

TEST(Line, ACircleWithAChangedRelationIsNotAccepted) {
  const lab::Pattern pattern = pattern_of(Matrix{3, 4, {1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0}});
  const lab::Refutation refutation =
      std::get<lab::Refutation>(lab::decision::decide_line(pattern, {}));
  ASSERT_EQ(flaw_of(pattern, refutation), "");
  const auto changed = [&](auto&& change) {
    lab::Refutation other = refutation;
    change(std::get<lab::OddCircle>(other.grounds).relations);
    return flaw_of(pattern, other);
  };
  EXPECT_NE(changed([](auto& relations) { relations.pop_back(); }), "");
  EXPECT_NE(changed([](auto& relations) { relations.clear(); }), "");
  EXPECT_NE(changed([](auto& relations) { relations[1].same = true; }), "");
  EXPECT_NE(changed([](auto& relations) { std::swap(relations[0].first, relations[0].second); }),
            "");
  EXPECT_NE(changed([](auto& relations) { relations[2].second = 99; }), "");
}

TEST(Line, EdgesAreDecided) {
  for (const Hidden hidden : {Hidden(), Hidden(1), Hidden(2)}) {
    expect_yes({1, 1, {1}}, hidden);
    expect_yes({3, 3, {1, 1, 1, 1, 1, 1, 1, 1, 1}}, hidden);
    expect_yes({2, 2, {0, 1, 0, 1}}, hidden);
    // Each row and column twice.
    expect_yes({4, 4, {1, 1, 0, 0, 1, 1, 0, 0, 0, 0, 1, 1, 0, 0, 1, 1}}, hidden);
    expect_no<lab::OddCircle>({3, 3, {1, 0, 0, 0, 1, 0, 0, 0, 1}}, hidden);
  }
  expect_yes({1, 5, {0, 1, 0, 1, 1}});
  expect_yes({5, 1, {1, 1, 1, 1, 1}});
  expect_yes({3, 2, {1, 0, 0, 1, 1, 1}});
  expect_no<lab::OddCircle>({2, 4, {1, 1, 0, 0, 1, 0, 1, 0}});
  expect_no<lab::OddCircle>({3, 5, {1, 0, 0, 0, 0, 0, 1, 0, 0, 0, 1, 1, 1, 0, 0}});
  expect_no<lab::SignConflict>({3, 3, {1, 0, 0, 0, 1, 1, 1, 1, 0}}, 1);
}

RC_GTEST_PROP(Line, QueriesAndKeysSideBySideAreAWitnessOfHiddenSizeTwo, ()) {
  Dice dice(any_seed());
  const auto n = *rc::gen::inRange<std::int64_t>(1, 51);
  const lab::Pattern pattern = pattern_of(planted_line(dice, n, n));
  const lab::Witness line = std::get<lab::Witness>(lab::decision::decide_line(pattern, 2));
  const Matrix q = matrix_of(line.q);
  const Matrix k = matrix_of(line.k);
  Matrix x{n, 2, {}};
  for (std::int64_t i = 0; i < n; ++i) x.values.insert(x.values.end(), {q(i, 0), k(i, 0)});
  lab::Witness witness;
  witness.x = tensor_of(x, DType::f32);
  witness.w_q = tensor_of(Matrix{2, 1, {1, 0}}, DType::f32);
  witness.w_k = tensor_of(Matrix{2, 1, {0, 1}}, DType::f32);
  witness.made_for.weak = true;
  RC_ASSERT(lab::verify(pattern, witness, witness.made_for, 1).holds());
}

TEST(Line, ValuesOfNonzerosDoNotMatter) {
  expect_yes({3, 3, {1e-300, 0, 0, 7, 3, 0, 0, 1e300, 0.5}});
}

TEST(Line, AHiddenSizeOfOneNeedsASquarePattern) {
  const lab::Pattern pattern = pattern_of(Matrix{1, 2, {1, 0}});
  try {
    lab::decision::decide_line(pattern, 1);
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), Code::input);
    EXPECT_STREQ(error.what(), "the pattern is 1 × 2; a hidden size is for square patterns");
  }
}

}  // namespace
}  // namespace tamis::test
