// What verification refuses, each with a message of one sentence.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "support/io_files.h"
#include "support/lab/witnesses.h"

namespace tamis::test {
namespace {

const Matrix unit{2, 2, {1, 0, 0, 1}};

std::string refusal(const lab::Pattern& pattern, const lab::Witness& witness,
                    const lab::Conditions& conditions = {}, Code code = Code::input) {
  return sentence([&] { (void)lab::verify(pattern, witness, conditions, 1); }, code);
}

TEST(VerifyErrors, SizesThatDifferAreNamed) {
  const Matrix three{3, 2, {1, 0, 0, 1, 1, 1}};
  EXPECT_EQ(
      refusal(pattern_of(unit), witness_of(three, unit)),
      "tensor 'q' of the witness has 3 rows and the pattern has 2 rows; they must be as many");
  EXPECT_EQ(
      refusal(pattern_of(unit), witness_of(unit, three)),
      "tensor 'k' of the witness has 3 rows and the pattern has 2 columns; they must be as many");
  lab::Witness inputs;
  inputs.x = tensor_of(three, DType::f32);
  inputs.w_q = tensor_of(unit, DType::f32);
  inputs.w_k = tensor_of(unit, DType::f32);
  EXPECT_EQ(
      refusal(pattern_of(unit), inputs),
      "tensor 'x' of the witness has 3 rows and the pattern has 2 rows; they must be as many");
  EXPECT_EQ(refusal(pattern_of(three), inputs),
            "the pattern is 3 × 2; a witness of x, w_q and w_k needs a square one");
}

TEST(VerifyErrors, CausalChecksNeedASquareLowerTriangle) {
  lab::Conditions causal;
  causal.causal = true;
  const Matrix three{3, 2, {1, 0, 0, 1, 1, 1}};
  EXPECT_EQ(refusal(pattern_of(three), witness_of(three, unit), causal),
            "the pattern is 3 × 2; a causal one is square");
  EXPECT_EQ(
      refusal(pattern_of({2, 2, {0, 1, 1, 0}}), witness_of(unit, unit), causal),
      "the pattern has a nonzero at row 0, column 1 (from 0), above the diagonal; a causal pattern "
      "has none");
}

TEST(VerifyErrors, ConditionsOutsideTheirRangeAreBadUsage) {
  const auto said = [](double eps1, double eps2) {
    return refusal(pattern_of(unit), witness_of(unit, unit), {.eps1 = eps1, .eps2 = eps2},
                   Code::usage);
  };
  EXPECT_EQ(said(1, 1), "eps1 is 1; it must be a number above 0 and below 1");
  EXPECT_EQ(said(0, 1), "eps1 is 0; it must be a number above 0 and below 1");
  EXPECT_EQ(said(std::nan(""), 1), "eps1 is nan; it must be a number above 0 and below 1");
  EXPECT_EQ(said(0.5, 0), "eps2 is 0; it must be a finite number above 0");
  EXPECT_EQ(said(0.5, std::numeric_limits<double>::infinity()),
            "eps2 is inf; it must be a finite number above 0");
  // Weak conditions use neither eps1 nor eps2.
  EXPECT_NO_THROW((void)lab::verify(pattern_of(unit), witness_of(unit, unit),
                                    {.eps1 = 7, .eps2 = -1, .weak = true}, 1));
}

TEST(VerifyErrors, AWitnessThatIsNoneIsNamed) {
  EXPECT_EQ(refusal(pattern_of(unit), lab::Witness()),
            "the witness: holds no witness; it needs tensors q and k, or x, w_q and w_k");
  lab::Witness half;
  half.q = tensor_of(unit, DType::f64);
  EXPECT_EQ(
      refusal(pattern_of(unit), half),
      "the witness: tensor 'k' is missing or empty; it must be [columns of the pattern, m], f32 or "
      "f64, none of them zero");
  EXPECT_EQ(refusal(pattern_of(unit), witness_of(unit, {2, 1, {1, 1}})),
            "the witness: tensor 'q' has 2 columns and 'k' has 1 columns; they must be as many");
  EXPECT_EQ(refusal(pattern_of(unit), witness_of(unit, {2, 2, {1, 0, std::nan(""), 1}})),
            "the witness: tensor 'k' holds nan at [1, 0]; every element must be finite");
}

TEST(VerifyErrors, APatternThatIsNoneIsNamed) {
  const lab::Witness witness = witness_of(unit, unit);
  lab::Pattern pattern = pattern_of(unit);
  pattern.value[1] = -1;
  EXPECT_EQ(refusal(pattern, witness),
            "row 1 of the pattern (from 0) has the value -1; it must be positive and finite");
  pattern = pattern_of(unit);
  pattern.column[1] = 2;
  EXPECT_EQ(
      refusal(pattern, witness),
      "row 1 of the pattern (from 0) has the column 2 after -1; columns must ascend from 0 to 1");
  pattern = pattern_of({2, 2, {1, 1, 0, 0}});
  EXPECT_EQ(refusal(pattern, witness),
            "row 1 of the pattern (from 0) has no nonzero; every row needs at least one");
  pattern = pattern_of(unit);
  pattern.row_start.pop_back();
  EXPECT_TRUE(refusal(pattern, witness)
                  .starts_with("the pattern has 2 rows, 2 offsets, 2 columns and 2 values"));
  EXPECT_EQ(refusal(lab::Pattern(), witness),
            "the pattern is 0 × 0; it needs at least one row and one column");
}

}  // namespace
}  // namespace tamis::test
