// f16 and bf16: every bit pattern, and rounding checked against a search for the nearest.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include <tamis/dtype.h>

namespace tamis {
namespace {

TEST(Dtype, EveryF16SurvivesARoundTrip) {
  for (std::uint32_t bits = 0; bits < 0x10000; ++bits) {
    const f16 x{static_cast<std::uint16_t>(bits)};
    const float wide = to_float(x);
    if (std::isnan(wide)) {
      EXPECT_TRUE(std::isnan(to_float(to_f16(wide))));
    } else {
      EXPECT_EQ(to_f16(wide).bits, x.bits);
    }
  }
}

TEST(Dtype, EveryF16HasTheValueOfItsDefinition) {
  for (std::uint32_t bits = 0; bits < 0x7C00; ++bits) {
    const int exponent = static_cast<int>(bits >> 10);
    const int fraction = static_cast<int>(bits & 0x3FF);
    const double expected =
        exponent == 0 ? std::ldexp(fraction, -24) : std::ldexp(1024 + fraction, exponent - 25);
    EXPECT_EQ(to_float(f16{static_cast<std::uint16_t>(bits)}), expected);
    EXPECT_EQ(to_float(f16{static_cast<std::uint16_t>(bits | 0x8000)}), -expected);
  }
}

/// Rounding between neighbours a < b: below the midpoint gives a, above it gives b, and the
/// midpoint gives the even one.
template <class Narrow, class Convert>
void expect_nearest_even(std::uint32_t last_finite, Convert convert) {
  for (std::uint32_t bits = 0; bits < last_finite; ++bits) {
    const float a = to_float(Narrow{static_cast<std::uint16_t>(bits)});
    const float b = to_float(Narrow{static_cast<std::uint16_t>(bits + 1)});
    const float middle = a + (b - a) / 2;  // exact: the narrow types have far fewer bits
    if (middle == a) continue;             // denormal bf16 has no float between
    EXPECT_EQ(convert(middle).bits, bits + (bits & 1)) << bits;
    EXPECT_EQ(convert(std::nextafter(middle, 0.0F)).bits, bits) << bits;
    EXPECT_EQ(convert(std::nextafter(middle, b)).bits, bits + 1) << bits;
    EXPECT_EQ(convert(-middle).bits, (bits + (bits & 1)) | 0x8000U) << bits;
  }
}

TEST(Dtype, RoundingToF16IsNearestEven) { expect_nearest_even<f16>(0x7BFF, to_f16); }
TEST(Dtype, RoundingToBf16IsNearestEven) { expect_nearest_even<bf16>(0x7F7F, to_bf16); }

TEST(Dtype, OverflowGivesInfinityAndNanStaysNan) {
  EXPECT_EQ(to_f16(65519.996F).bits, 0x7BFF);
  EXPECT_EQ(to_f16(65520.0F).bits, 0x7C00);
  EXPECT_EQ(to_f16(-std::numeric_limits<float>::infinity()).bits, 0xFC00);
  EXPECT_EQ(to_bf16(std::numeric_limits<float>::max()).bits, 0x7F80);
  EXPECT_TRUE(std::isnan(to_float(to_f16(std::nanf("")))));
  EXPECT_TRUE(std::isnan(to_float(to_bf16(std::nanf("")))));
}

}  // namespace
}  // namespace tamis
