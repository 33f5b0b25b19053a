// Edge cases of the bound on rounding. dense_test.cpp checks on every case that the bound holds.
#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include <tamis/attention.h>
#include <tamis/error.h>

namespace tamis {
namespace {

const Shape shape{1, 1, 1, 64, 64, DType::f32, 0.125F};

TEST(Rounding, GrowsWithEveryArgument) {
  const Rounding base = attention_rounding(shape, 1000, 10, 10, 3);
  EXPECT_GT(base.error, 0);
  EXPECT_GT(base.tau, 0);
  for (const Rounding& larger :
       {attention_rounding(shape, 100000, 10, 10, 3), attention_rounding(shape, 1000, 20, 10, 3),
        attention_rounding(shape, 1000, 10, 20, 3)}) {
    EXPECT_GT(larger.error, base.error);
    EXPECT_GT(larger.tau, base.tau);
    EXPECT_GT(larger.lse, base.lse);
  }
  EXPECT_GT(attention_rounding(shape, 1000, 10, 10, 4).error, base.error);
}

TEST(Rounding, NeverBecomesNegativeNanOrSmallForManyKeysOrLargeNorms) {
  double error = 0;
  double lse = 0;
  for (int power = 0; power < 62; ++power) {
    const Rounding bound = attention_rounding(shape, std::int64_t{1} << power, 1, 1, 1);
    EXPECT_GE(bound.error, error) << power;
    EXPECT_GE(bound.lse, lse) << power;
    EXPECT_LE(bound.tau, 1);
    error = bound.error;
    lse = bound.lse;
  }
  for (const double norm : {1e3, 1e10, 1e30}) {
    const Rounding bound = attention_rounding(shape, 100, norm, norm, 1);
    EXPECT_TRUE(std::isfinite(bound.error)) << norm;
    EXPECT_TRUE(std::isfinite(bound.lse)) << norm;
    EXPECT_GE(bound.tau, 0);
  }
}

TEST(Rounding, CoversAScaleInTheDenormalRange) {
  // scale·log₂e rounds to a multiple of 2⁻¹⁴⁹; half of that is then a large part of every logit.
  const Shape tiny{1, 1, 1, 1, 1, DType::f32, 0x1p-149F};
  const float q = 0x1p60F;
  const float k[2] = {0x1p90F, 0.0F};
  const float v[2] = {1.0F, 0.0F};
  const PageTables tables(DType::f32, k, v, 1, 2, 1, 1);
  float out = 0;
  std::vector<float> lse(1);
  double exact = 0;
  std::vector<double> exact_lse(1);
  Workspace workspace(1);
  dense(tiny, {&q, 1, 1}, tables.heads(), {}, workspace, {&out, 1, 1}, lse);
  reference(tiny, {&q, 1, 1}, tables.heads(), {}, {&exact, 1, 1}, exact_lse);
  const Rounding bound = attention_rounding(tiny, 2, q, k[0], 1);
  EXPECT_LE(std::abs(out - exact), bound.error);
  EXPECT_LE(std::abs(lse[0] - exact_lse[0]), bound.lse);
}

TEST(Rounding, IsZeroWithoutKeysAndRefusesNonsense) {
  EXPECT_EQ(attention_rounding(shape, 0, 1, 1, 1).error, 0);
  EXPECT_THROW(attention_rounding(shape, -1, 1, 1, 1), Error);
  EXPECT_THROW(attention_rounding(shape, 1, -1, 1, 1), Error);
  EXPECT_THROW(attention_rounding(shape, 1, std::nan(""), 1, 1), Error);
  Shape wrong = shape;
  wrong.head_dim = 0;
  EXPECT_THROW(attention_rounding(wrong, 1, 1, 1, 1), Error);
}

}  // namespace
}  // namespace tamis
