// Equal columns are merged into kinds, and witnesses are extended to all columns.
#include "lab/realise/column_kinds.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <set>

#include <tamis/error.h>
#include <tamis/lab/decide.h>
#include <tamis/lab/realise.h>
#include "lab/decide/number_columns.h"
#include "support/lab/signs.h"

namespace tamis::test {
namespace {

using Indices = std::vector<std::int64_t>;

/// Three rows and `cols` columns, of which the last equals the first.
lab::Pattern wide(std::int64_t cols) {
  lab::Pattern pattern;
  pattern.rows = 3;
  pattern.cols = cols;
  pattern.row_start = {0, 2, 3, 4};
  pattern.column = {0, cols - 1, 1, 2};
  pattern.value = {1, 1, 1, 1};
  return pattern;
}

TEST(ColumnKinds, HoldEqualColumnsOnceAndEmptyOnesOnce) {
  const lab::realisation::ColumnKinds kinds =
      lab::realisation::column_kinds(pattern_of_rows({"0100110", "0010000", "0100100"}), true);
  EXPECT_EQ(kinds.first, (Indices{0, 1, 2, 5}));
  EXPECT_EQ(kinds.filled, (Indices{1, 2, 4, 5}));
  EXPECT_EQ(kinds.kind, (Indices{1, 2, 1, 3}));
  EXPECT_EQ(kinds.pattern.cols, 4);
  EXPECT_EQ(kinds.pattern.row_start, (Indices{0, 2, 3, 4}));
  EXPECT_EQ(kinds.pattern.column, (Indices{1, 3, 2, 1}));
  EXPECT_TRUE(kinds.merge());
}

TEST(ColumnKinds, DifferByTheirValuesUnlessConditionsAreWeak) {
  lab::Pattern pattern = pattern_of_rows({"111", "110"});
  pattern.value = {1, 2, 1, 1, 2};
  EXPECT_EQ(lab::realisation::column_kinds(pattern, true).first, (Indices{0, 2}));
  EXPECT_EQ(lab::realisation::column_kinds(pattern, false).first, (Indices{0, 1, 2}));
  EXPECT_FALSE(lab::realisation::column_kinds(pattern, false).merge());
}

RC_GTEST_PROP(ColumnKinds, AreThoseOfTheColumnsWrittenOut, ()) {
  Dice dice(*rc::gen::arbitrary<std::uint64_t>());
  const std::int64_t rows = 1 + dice.below(4);
  const std::int64_t cols = 1 + dice.below(12);
  Matrix matrix{rows, cols, std::vector<double>(static_cast<std::size_t>(rows * cols))};
  for (double& value : matrix.values) value = static_cast<double>(dice.below(3));
  for (std::int64_t i = 0; i < rows; ++i) matrix.values[static_cast<std::size_t>(i * cols)] = 1;
  const bool weak = dice.coin();
  const lab::realisation::ColumnKinds kinds =
      lab::realisation::column_kinds(pattern_of(matrix), weak);
  const auto column = [&](std::int64_t j) {
    std::vector<double> entries;
    for (std::int64_t i = 0; i < rows; ++i) {
      const double value = matrix.values[static_cast<std::size_t>(i * cols + j)];
      entries.push_back(weak && value != 0 ? 1 : value);
    }
    return entries;
  };
  std::set<std::vector<double>> seen;
  Indices first;
  Matrix merged{rows, 0, {}};
  for (std::int64_t j = 0; j < cols; ++j)
    if (seen.insert(column(j)).second) first.push_back(j);
  RC_ASSERT(kinds.first == first);
  RC_ASSERT(kinds.pattern.cols == std::ssize(first));
  for (std::int64_t i = 0; i < rows; ++i) {
    Indices columns;
    for (std::size_t kind = 0; kind < first.size(); ++kind)
      if (matrix.values[static_cast<std::size_t>(i * cols + first[kind])] != 0)
        columns.push_back(static_cast<std::int64_t>(kind));
    const auto held = kinds.pattern.columns_of(i);
    RC_ASSERT(Indices(held.begin(), held.end()) == columns);
  }
  Matrix keys{std::ssize(first), 2, {}};
  for (std::size_t i = 0; i < 2 * first.size(); ++i) keys.values.push_back(static_cast<double>(i));
  const Matrix all = matrix_of(lab::realisation::spread(witness_of({1, 2, {0, 0}}, keys), kinds).k);
  RC_ASSERT(all.rows == cols);
  for (std::int64_t j = 0; j < cols; ++j)
    RC_ASSERT(column(first[static_cast<std::size_t>(all(j, 0)) / 2]) == column(j));
}

TEST(ColumnKinds, KeysForMoreColumnsThanAFileJustifiesAreRefused) {
  constexpr std::int64_t many = (std::int64_t{1} << 31) - 1;
  EXPECT_EQ(lab::realisation::too_many_keys(wide(1'000'000), 64, DType::f32), "");
  EXPECT_EQ(
      lab::realisation::too_many_keys(wide(many), 2, DType::f32),
      "the pattern has 2147483647 columns and only 4 nonzeros, and a witness of dimension 2 has a "
      "key for every column, which would take 16.0 GiB; leave out all empty columns but one, whose "
      "key does for them all");
  const auto sentence = [](auto&& call) -> std::string {
    try {
      call();
      return "no error";
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), Code::input);
      return error.what();
    }
  };
  lab::RealiseOptions wanted;
  EXPECT_NE(sentence([&] { (void)lab::realise(wide(many), wanted); }).find("2147483647 columns"),
            std::string::npos);
  lab::DecideOptions options;
  EXPECT_NE(sentence([&] { (void)lab::decide(wide(many), options); }).find("2147483647 columns"),
            std::string::npos);
}

TEST(ColumnKinds, AreDecidedAlsoWhereTheKeysOfTheirColumnsWouldBeTooMany) {
  lab::DecideOptions options;
  options.solvers = false;
  options.threads = 1;
  const lab::Decision decision =
      lab::decide(wide(50'000'000), options);  // 200 MB in one dimension, 400 MB in two
  EXPECT_EQ(decision.verdict, lab::Verdict::yes);
  EXPECT_EQ(decision.upper, 2);
  EXPECT_FALSE(decision.witness.has_value());
  EXPECT_NE(decision.trials.back().outcome.find("50000000 columns"), std::string::npos);
}

TEST(ColumnKinds, CostNothingToDecideWhereNoWitnessIsWanted) {
  lab::DecideOptions options;
  options.witness = false;
  options.solvers = false;
  options.threads = 1;
  const lab::Decision decision = lab::decide(wide((std::int64_t{1} << 31) - 1), options);
  EXPECT_EQ(decision.verdict, lab::Verdict::yes);
  EXPECT_EQ(decision.upper, 2);
  EXPECT_TRUE(decision.verification.holds());
  EXPECT_FALSE(decision.witness.has_value());
  ASSERT_TRUE(decision.refutation.has_value());
  EXPECT_TRUE(lab::check_refutation(wide((std::int64_t{1} << 31) - 1), *decision.refutation).holds);
}

TEST(ColumnKinds, RenumberWhateverRefutes) {
  const Indices columns{0, 5, 7, 9};
  lab::Grounds full = lab::FullSet{true, {1, 3}, {lab::ones_row, 2}};
  lab::decision::number_columns(full, columns);
  EXPECT_EQ(std::get<lab::FullSet>(full).elements, (Indices{5, 9}));
  EXPECT_EQ(std::get<lab::FullSet>(full).cuts, (Indices{lab::ones_row, 2}));
  full = lab::FullSet{false, {lab::ones_row, 2}, {1, 3}};
  lab::decision::number_columns(full, columns);
  EXPECT_EQ(std::get<lab::FullSet>(full).elements, (Indices{lab::ones_row, 2}));
  EXPECT_EQ(std::get<lab::FullSet>(full).cuts, (Indices{5, 9}));
  lab::Grounds proof = lab::OrderProof{false, {lab::ones_row, 1}, {0, 2}, {{}}};
  lab::decision::number_columns(proof, columns);
  EXPECT_EQ(std::get<lab::OrderProof>(proof).elements, (Indices{lab::ones_row, 1}));
  EXPECT_EQ(std::get<lab::OrderProof>(proof).cuts, (Indices{0, 7}));
  lab::Grounds said = lab::SolverSaid{{}, "(check-sat)\n"};
  lab::decision::number_columns(said, columns);
  EXPECT_EQ(std::get<lab::SolverSaid>(said).problem,
            "; Equal columns of the pattern are there once. Columns 0, 1, … below are its columns "
            "0 5 7 9.\n"
            "(check-sat)\n");
}

/// A random pattern in which some columns are repeated and some are empty.
lab::Pattern with_copies(Dice& dice) {
  const lab::Pattern base = random_half(dice, 3 + dice.below(12), 2 + dice.below(6));
  Matrix matrix{base.rows, 3 * base.cols, {}};
  matrix.values.resize(static_cast<std::size_t>(matrix.rows * matrix.cols));
  std::vector<std::int64_t> from;
  for (std::int64_t j = 0; j < matrix.cols; ++j)
    from.push_back(j < base.cols ? j : dice.below(base.cols + 1));
  for (std::int64_t i = 0; i < base.rows; ++i)
    for (const std::int64_t column : base.columns_of(i))
      for (std::int64_t j = 0; j < matrix.cols; ++j)
        if (from[static_cast<std::size_t>(j)] == column)
          matrix.values[static_cast<std::size_t>(i * matrix.cols + j)] = 1;
  return pattern_of(matrix);
}

RC_GTEST_PROP(ColumnKinds, GiveWitnessesAndRefutationsOfThePatternItself, ()) {
  Dice dice(*rc::gen::arbitrary<std::uint64_t>());
  const lab::Pattern pattern = with_copies(dice);
  lab::DecideOptions options;
  options.time_limit = 1000;
  options.threads = 1;
  options.solvers = false;
  const lab::Decision decision = lab::decide(pattern, options);
  RC_ASSERT(decision.witness.has_value());
  RC_ASSERT(lab::verify(pattern, *decision.witness, lab::Conditions{.weak = true}, 1).holds());
  if (decision.refutation) RC_ASSERT(lab::check_refutation(pattern, *decision.refutation).holds);
  lab::RealiseOptions wanted;
  wanted.dim = *decision.upper + 1;
  wanted.steps = 200;
  wanted.threads = 1;
  const lab::Realisation realised = lab::realise(pattern, wanted);
  if (!realised.witness) return;
  const lab::Verification again = lab::verify(pattern, *realised.witness, wanted.conditions, 1);
  RC_ASSERT(again.holds());
  RC_ASSERT(again.norm_product == realised.verification.norm_product);
  RC_ASSERT(again.max_logit == realised.verification.max_logit);
  for (const lab::Arithmetic arithmetic :
       {lab::Arithmetic::f32, lab::Arithmetic::f64, lab::Arithmetic::exact}) {
    RC_ASSERT(again[arithmetic].margin == realised.verification[arithmetic].margin);
    RC_ASSERT(again[arithmetic].worst_row == realised.verification[arithmetic].worst_row);
    RC_ASSERT(again[arithmetic].failing_rows == realised.verification[arithmetic].failing_rows);
  }
}

// The enclosure of the ratio of two equal columns is not exactly 1, and a row may have
// no other ratio.
TEST(ColumnKinds, GiveTheMarginOfARowOfCopiesAlone) {
  const lab::Pattern pattern = pattern_of({2, 3, {1, 1, 1, 1, 1, 1}});
  lab::RealiseOptions wanted;
  wanted.dim = 2;
  wanted.threads = 1;
  const lab::Realisation realised = lab::realise(pattern, wanted);
  ASSERT_TRUE(realised.witness.has_value());
  const lab::Verification again = lab::verify(pattern, *realised.witness, wanted.conditions, 1);
  for (const lab::Arithmetic arithmetic :
       {lab::Arithmetic::f32, lab::Arithmetic::f64, lab::Arithmetic::exact})
    EXPECT_EQ(again[arithmetic].margin, realised.verification[arithmetic].margin);
}

}  // namespace
}  // namespace tamis::test
