// Deciding patterns: bounds are consistent with what was planted, verdicts come with evidence that
// holds, and all small cases are decided.
#include <tamis/lab/decide.h>

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <array>
#include <numeric>
#include <set>

#include <tamis/error.h>
#include <tamis/lab/generate.h>
#include "support/lab/lines.h"
#include "support/lab/orderings.h"
#include "support/lab/signs.h"
#include "support/lab/witnesses.h"

namespace tamis::test {
namespace {

/// Options with a time limit so long that no test depends on it.
lab::DecideOptions patient() {
  lab::DecideOptions options;
  options.time_limit = 1000;
  options.threads = 1;
  options.solvers = false;
  return options;
}

std::uint64_t any_seed() { return *rc::gen::arbitrary<std::uint64_t>(); }

/// Empty if the evidence of a decision proves all that it claims; otherwise says what is wrong.
std::string flaw_of(const lab::Pattern& pattern, const lab::DecideOptions& options,
                    const lab::Decision& decision) {
  if (decision.upper.has_value() != decision.witness.has_value())
    return "an upper bound without a witness";
  if (decision.witness) {
    const lab::Witness& witness = *decision.witness;
    if (!lab::verify(pattern, witness, lab::Conditions{.weak = true}, 1).holds())
      return "the witness does not hold";
    const lab::Tensor& tensor = witness.has_queries() ? witness.q : witness.w_q;
    if (tensor.info().shape[1] != *decision.upper)
      return "the witness has other columns than the bound says";
    if (pattern.rows == pattern.cols) {
      if (!witness.has_inputs()) return "no x, w_q, w_k";
      if (options.hidden && witness.x.info().shape[1] != *options.hidden)
        return "another hidden size";
    }
    if (*decision.upper < decision.lower) return "the bounds contradict each other";
  }
  if ((decision.lower > 1) != decision.refutation.has_value())
    return "a lower bound without a refutation";
  if (decision.refutation) {
    if (decision.refutation->dim != decision.lower - 1)
      return "the refutation is of another dimension";
    const lab::RefutationCheck check = lab::check_refutation(pattern, *decision.refutation);
    if (!check.holds) return check.why;
  }
  if (options.dim) {
    const bool yes = decision.upper && *decision.upper <= *options.dim;
    const bool no = decision.lower > *options.dim;
    if ((decision.verdict == lab::Verdict::yes) != yes ||
        (decision.verdict == lab::Verdict::no) != no)
      return "the verdict is not that of the bounds";
  }
  return "";
}

/// The smallest matrix that permuting rows and columns independently makes of this one.
std::uint32_t canonical(std::uint32_t matrix) {
  static const auto orders = [] {
    std::vector<std::array<int, 4>> list;
    std::array<int, 4> order{0, 1, 2, 3};
    do list.push_back(order);
    while (std::ranges::next_permutation(order).found);
    return list;
  }();
  std::uint32_t least = ~0U;
  for (const auto& columns : orders) {
    std::array<std::uint32_t, 4> rows{};
    for (int i = 0; i < 4; ++i)
      for (int j = 0; j < 4; ++j)
        rows[static_cast<std::size_t>(i)] |=
            (matrix >> (4 * i + columns[static_cast<std::size_t>(j)]) & 1U) << j;
    std::ranges::sort(rows);
    least = std::min(least, rows[0] << 12 | rows[1] << 8 | rows[2] << 4 | rows[3]);
  }
  return least;
}

TEST(Decide, FindsEveryFourByFourPatternInTwoDimensions) {
  std::set<std::uint32_t> kinds;
  for (std::uint32_t matrix = 0; matrix < 1U << 16; ++matrix) {
    bool empty = false;
    for (int i = 0; i < 4; ++i) empty = empty || (matrix >> (4 * i) & 15U) == 0;
    if (!empty) kinds.insert(canonical(matrix));
  }
  EXPECT_EQ(kinds.size(), 230U);  // 317 kinds of 4 × 4, less 87 with a zero row (all of 3 × 4)
  std::array<int, 3> least{};
  for (const std::uint32_t matrix : kinds) {
    std::vector<std::uint64_t> rows;
    for (int i = 0; i < 4; ++i) rows.push_back(matrix >> (4 * i) & 15U);
    const lab::Pattern pattern = pattern_of_bits(rows, 4);
    const lab::DecideOptions options = patient();
    const lab::Decision decision = lab::decide(pattern, options);
    EXPECT_EQ(flaw_of(pattern, options, decision), "");
    ASSERT_TRUE(decision.upper && *decision.upper == decision.lower && *decision.upper <= 2);
    EXPECT_EQ(decision.verdict, lab::Verdict::yes);
    ++least[static_cast<std::size_t>(*decision.upper)];
    EXPECT_EQ(*decision.upper == 1, fits_on_a_line(pattern));
  }
  EXPECT_GT(least[1], 0);
  EXPECT_GT(least[2], 0);
}

RC_GTEST_PROP(Decide, NeverContradictsAWitnessThatWasPlanted, ()) {
  Dice dice(any_seed());
  const std::int64_t dim = 1 + dice.below(3);
  const lab::Pattern pattern =
      planted_halfspaces(dice, 2 + dice.below(14), 2 + dice.below(14), dim);
  const lab::DecideOptions options = patient();
  const lab::Decision decision = lab::decide(pattern, options);
  RC_ASSERT(flaw_of(pattern, options, decision) == "");
  RC_ASSERT(decision.lower <= dim);
  RC_ASSERT(decision.upper.has_value());
}

RC_GTEST_PROP(Decide, AnswersForOneDimensionAndHiddenSize, ()) {
  Dice dice(any_seed());
  const std::int64_t n = 3 + dice.below(8);
  const std::array makers{planted_line, planted_crossing, planted_triple};
  const auto maker = static_cast<std::size_t>(dice.below(3));
  const lab::Pattern pattern = pattern_of(makers[maker](dice, n + 1, n + 1));
  for (const std::optional<std::int64_t> hidden :
       {std::optional<std::int64_t>(), std::optional<std::int64_t>(1),
        std::optional<std::int64_t>(5)}) {
    lab::DecideOptions options = patient();
    options.dim = 1;
    options.hidden = hidden;
    const lab::Decision decision = lab::decide(pattern, options);
    RC_ASSERT(flaw_of(pattern, options, decision) == "");
    RC_ASSERT(decision.verdict != lab::Verdict::open);
    if (hidden != 1) RC_ASSERT((decision.verdict == lab::Verdict::yes) == (maker == 0));
  }
}

TEST(Decide, KnowsTheFamilies) {
  const auto least = [](const lab::Pattern& pattern) {
    const lab::DecideOptions options = patient();
    const lab::Decision decision = lab::decide(pattern, options);
    EXPECT_EQ(flaw_of(pattern, options, decision), "");
    return decision.upper == decision.lower ? *decision.upper : -1;
  };
  EXPECT_EQ(least(lab::block_pattern(40, 1, false)), 2);   // the identity
  EXPECT_EQ(least(lab::block_pattern(40, 40, false)), 1);  // all ones
  EXPECT_EQ(least(lab::banded_pattern(40, 3, false)), 2);
  EXPECT_EQ(least(lab::pairs_pattern(5)), 3);
  EXPECT_EQ(least(lab::pairs_pattern(6)), 4);
  EXPECT_EQ(least(lab::pairs_pattern(20)), 4);
  std::vector<std::uint64_t> but_one;
  for (int i = 0; i < 40; ++i)
    but_one.push_back(((std::uint64_t{1} << 40) - 1) ^ std::uint64_t{1} << i);
  EXPECT_EQ(least(pattern_of_bits(but_one, 40)), 2);
}

TEST(Decide, RefusesARectangularPatternWhoseDocumentsAreCutInEveryWay) {
  std::vector<std::uint64_t> rows;
  for (std::uint64_t row = 1; row < 8; ++row) rows.push_back(row);
  const lab::Pattern pattern = pattern_of_bits(rows, 4);  // the seven splits of four columns
  lab::DecideOptions options = patient();
  options.dim = 2;
  const lab::Decision decision = lab::decide(pattern, options);
  EXPECT_EQ(decision.verdict, lab::Verdict::no);
  EXPECT_EQ(flaw_of(pattern, options, decision), "");
}

TEST(Decide, SharesInputsWhereTheHiddenSizeAsksForIt) {
  Dice dice(11);
  for (const auto& [dim, hidden] : {std::pair(2, 2), std::pair(2, 3), std::pair(3, 4)}) {
    const std::int64_t n = 9;
    std::vector<double> x;
    for (std::int64_t i = 0; i < n * hidden; ++i) x.push_back(dice.normal());
    std::vector<double> w_q;
    std::vector<double> w_k;
    for (std::int64_t i = 0; i < hidden * dim; ++i) {
      w_q.push_back(dice.normal());
      w_k.push_back(dice.normal());
    }
    Matrix planted{n, n, std::vector<double>(static_cast<std::size_t>(n * n))};
    for (std::int64_t i = 0; i < n; ++i) {
      std::vector<double> logits;
      for (std::int64_t j = 0; j < n; ++j) {
        double logit = 0;
        for (std::int64_t c = 0; c < dim; ++c) {
          double q = 0;
          double k = 0;
          for (std::int64_t h = 0; h < hidden; ++h) {
            q += x[static_cast<std::size_t>(i * hidden + h)] *
                 w_q[static_cast<std::size_t>(h * dim + c)];
            k += x[static_cast<std::size_t>(j * hidden + h)] *
                 w_k[static_cast<std::size_t>(h * dim + c)];
          }
          logit += q * k;
        }
        logits.push_back(logit);
      }
      auto sorted = logits;
      std::ranges::sort(sorted);
      const double threshold = sorted[static_cast<std::size_t>(dice.below(n))];
      for (std::int64_t j = 0; j < n; ++j)
        planted.values[static_cast<std::size_t>(i * n + j)] =
            logits[static_cast<std::size_t>(j)] >= threshold ? 1 : 0;
    }
    const lab::Pattern pattern = pattern_of(planted);
    lab::DecideOptions options = patient();
    options.dim = dim;
    options.hidden = hidden;
    const lab::Decision decision = lab::decide(pattern, options);
    EXPECT_EQ(flaw_of(pattern, options, decision), "");
    EXPECT_EQ(decision.verdict, lab::Verdict::yes) << dim << ", " << hidden;
  }
}

TEST(Decide, GivesTheBoundsSoFarWhenAskedToStop) {
  Dice dice(2);
  std::vector<std::uint64_t> rows;
  for (int i = 0; i < 60; ++i)
    rows.push_back(1 + static_cast<std::uint64_t>(dice.below((std::int64_t{1} << 60) - 1)));
  const lab::Pattern pattern = pattern_of_bits(rows, 60);
  const lab::DecideOptions options = patient();
  const lab::Decision decision =
      lab::decide(pattern, options, [](double, double) { return false; });
  EXPECT_TRUE(decision.interrupted);
  EXPECT_EQ(decision.verdict, lab::Verdict::open);
  EXPECT_EQ(decision.lower, 2);
  EXPECT_EQ(flaw_of(pattern, options, decision), "");
}

TEST(Decide, RefusesOptionsOutsideTheirRange) {
  const lab::Pattern square = pattern_of_rows({"10", "01"});
  const lab::Pattern rectangular = pattern_of_rows({"10", "01", "11"});
  const auto sentence = [](const lab::Pattern& pattern,
                           const lab::DecideOptions& options) -> std::string {
    try {
      (void)lab::decide(pattern, options);
      return "accepted";
    } catch (const Error& error) {
      return error.what();
    }
  };
  lab::DecideOptions options = patient();
  options.dim = 0;
  EXPECT_EQ(sentence(square, options), "dimension 0 was asked for; it must be at least 1");
  options.dim = 2;
  options.hidden = 1;
  EXPECT_NE(sentence(square, options)
                .find("hidden size 1 was asked for; it must be from 2 (the dimension)"),
            std::string::npos);
  options.hidden = 4;
  EXPECT_EQ(sentence(rectangular, options),
            "a hidden size was asked for, but the pattern is 3 × 2; queries and keys share inputs "
            "only if it is square");
  for (const double limit : {0.0, -1.0, std::numeric_limits<double>::quiet_NaN()}) {
    lab::DecideOptions timed = patient();
    timed.time_limit = limit;
    EXPECT_NE(sentence(square, timed).find("it must be above 0"), std::string::npos);
  }
  lab::Pattern empty_row = square;
  empty_row.row_start = {0, 2, 2};
  empty_row.column = {0, 1};
  EXPECT_NE(sentence(empty_row, patient()).find("row 1 of the pattern (from 0) has no nonzero"),
            std::string::npos);
}

}  // namespace
}  // namespace tamis::test
