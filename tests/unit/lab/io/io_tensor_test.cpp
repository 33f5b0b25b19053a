// Tensors in memory and their elements in other types.
#include <gtest/gtest.h>

#include <rapidcheck/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>

#include "lab/io/tensor_values.h"
#include "support/io_files.h"

namespace tamis::test {
namespace {

template <class T>
lab::Tensor tensor_of(DType dtype, const std::vector<T>& values) {
  lab::Tensor tensor({"t", dtype, {static_cast<std::int64_t>(values.size())}});
  if (!values.empty()) std::memcpy(tensor.bytes().data(), values.data(), values.size() * sizeof(T));
  return tensor;
}

TEST(Tensor, IsZeroFilledAndAlignedTo64Bytes) {
  for (const DType dtype : all_dtypes) {
    const lab::Tensor tensor({"t", dtype, {3, 5}});
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(tensor.bytes().data()) % 64, 0U);
    EXPECT_EQ(tensor.bytes().size(), static_cast<std::size_t>(15 * size_of(dtype)));
    EXPECT_EQ(tensor.to_f64(), std::vector<double>(15));
  }
}

TEST(Tensor, HasNoBytesBeforeItIsMadeAndAfterItIsMovedFrom) {
  lab::Tensor tensor;
  EXPECT_TRUE(tensor.bytes().empty());
  tensor = lab::Tensor({"t", DType::f32, {4}});
  const lab::Tensor other = std::move(tensor);
  EXPECT_EQ(other.bytes().size(), 16U);
  EXPECT_TRUE(tensor.bytes().empty());  // NOLINT(bugprone-use-after-move): what is tested
  EXPECT_TRUE(tensor.to_f32().empty());
}

TEST(Tensor, SizesThatDoNotFitAreAnError) {
  constexpr std::int64_t huge = std::int64_t{1} << 62;
  EXPECT_EQ(
      sentence(
          [] {
            (void)lab::Tensor({"t", DType::f64, {huge}});
          },
          Code::usage),
      "tensor 't' cannot have the shape [4611686018427387904]: dimensions must not be negative and "
      "its bytes must fit 63 bits");
  EXPECT_EQ((lab::TensorInfo{"t", DType::u8, {huge, 0, huge}}.elements()), 0);
  EXPECT_EQ((lab::TensorInfo{"t", DType::u8, {}}.elements()), 1);
}

RC_GTEST_PROP(Tensor, EveryElementTypeConvertsToItsValue, ()) {
  const auto check = []<class T>(DType dtype, T) {
    const auto values = *rc::gen::arbitrary<std::vector<T>>();
    const lab::Tensor tensor = tensor_of(dtype, values);
    const std::vector<double> wide = tensor.to_f64();
    const std::vector<float> narrow = tensor.to_f32();
    RC_ASSERT(wide.size() == values.size());
    for (std::size_t i = 0; i < values.size(); ++i) {
      RC_ASSERT(wide[i] == static_cast<double>(values[i]));
      RC_ASSERT(narrow[i] == static_cast<float>(values[i]));
    }
  };
  check(DType::f32, float{});
  check(DType::f64, double{});
  check(DType::i8, std::int8_t{});
  check(DType::i16, std::int16_t{});
  check(DType::i32, std::int32_t{});
  check(DType::i64, std::int64_t{});
  check(DType::u8, std::uint8_t{});
  check(DType::u16, std::uint16_t{});
  check(DType::u32, std::uint32_t{});
  check(DType::u64, std::uint64_t{});
}

TEST(Tensor, SixteenBitFloatsAndBooleansConvertToTheirValue) {
  EXPECT_EQ(tensor_of<std::uint16_t>(DType::f16, {0x3C00, 0xC000, 0x0001}).to_f64(),
            (std::vector<double>{1, -2, 0x1p-24}));
  EXPECT_EQ(tensor_of<std::uint16_t>(DType::bf16, {0x3F80, 0xC000}).to_f32(),
            (std::vector<float>{1, -2}));
  // Files may hold bytes that are neither 0 nor 1.
  EXPECT_EQ(tensor_of<std::uint8_t>(DType::boolean, {0, 1, 255}).to_f64(),
            (std::vector<double>{0, 1, 1}));
}

TEST(Tensor, TheFirstElementThatIsNotFiniteIsFound) {
  const float inf = std::numeric_limits<float>::infinity();
  for (const std::size_t at : {0U, 1U, 1023U, 1024U, 4999U}) {
    std::vector<float> values(5000, std::numeric_limits<float>::max());
    values[at] = at % 2 == 0 ? -inf : std::nanf("");
    values[4999] = inf;
    std::vector<std::uint16_t> halves;
    std::vector<std::uint16_t> brains;
    std::vector<double> doubles;
    for (const float x : values) {
      halves.push_back(std::isfinite(x) ? to_f16(65504).bits : to_f16(x).bits);
      brains.push_back(std::isfinite(x) ? std::uint16_t{0x7F7F} : to_bf16(x).bits);
      doubles.push_back(x);
    }
    EXPECT_EQ(lab::io::first_not_finite(tensor_of(DType::f32, values)), at);
    EXPECT_EQ(lab::io::first_not_finite(tensor_of(DType::f16, halves)), at);
    EXPECT_EQ(lab::io::first_not_finite(tensor_of(DType::bf16, brains)), at);
    EXPECT_EQ(lab::io::first_not_finite(tensor_of(DType::f64, doubles)), at);
  }
  EXPECT_FALSE(
      lab::io::first_not_finite(tensor_of<std::uint16_t>(DType::f16, {0x7BFF, 0xFBFF, 0, 1})));
  EXPECT_FALSE(lab::io::first_not_finite(tensor_of<std::int16_t>(DType::i16, {-1})));
  EXPECT_FALSE(lab::io::first_not_finite(lab::Tensor({"t", DType::f32, {0}})));
}

}  // namespace
}  // namespace tamis::test
