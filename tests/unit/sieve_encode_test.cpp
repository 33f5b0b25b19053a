// What encode_block stores, decoded in f64: every norm is above the true one, and close to it.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <functional>
#include <random>
#include <string>
#include <vector>

#include <tamis/dtype.h>
#include "sieve/encode.h"
#include "support/targets.h"

namespace tamis {
namespace {

using testing::for_each_target;

struct Case {
  std::string name;
  /// The number in channel c of key or value j, given a normal one.
  std::function<double(std::int64_t j, std::int64_t c, double normal)> at;
  std::int64_t pinned = 0;  // leading keys
  bool tight = true;        // false where numbers are so small that absolute slack counts
};

std::vector<Case> cases() {
  return {
      {"normal", [](auto, auto, double x) { return x; }},
      {"four sinks with huge norms", [](auto j, auto, double x) { return j < 4 ? 1000 * x : x; }, 4},
      {"constant channels", [](auto, auto c, double x) { return c % 3 == 0 ? 3.7 * double(c) : x; }},
      {"all equal", [](auto, auto, double) { return -0.3; }},
      {"nearly constant, far from zero", [](auto, auto, double x) { return 1000 + 0.01 * x; }},
      {"one outlier", [](auto j, auto c, double x) { return j == 77 && c == 0 ? 4000.0 : x; }},
      {"scales from 2^-12 to 2^12", [](auto, auto c, double x) { return std::ldexp(x, int(c % 25) - 12); }},
      {"duplicates", [](auto j, auto c, double) { return std::sin(double((j % 3) * 100 + c)); }},
      {"zeros", [](auto, auto, double) { return 0.0; }, 0, false},
      {"tiny", [](auto, auto, double x) { return 1e-35 * x; }, 0, false},
      {"all pinned", [](auto, auto, double x) { return x; }, block_keys},
  };
}

/// Only f32 reaches these.
std::vector<Case> wide_cases() {
  return {
      {"up to 2^54", [](auto, auto, double x) { return std::ldexp(std::tanh(x), 54); }},
      {"three keys beyond 2^55",
       [](auto j, auto, double x) { return j % 50 == 7 ? std::ldexp(x, 70) : x; }},
      {"scales from 2^-60 to 2^40",
       [](auto, auto c, double x) { return std::ldexp(x, int(c * 7 % 101) - 60); }},
  };
}

/// Numbers of a dtype as stored, and as they are.
struct Stored {
  std::vector<std::byte> bytes;
  std::vector<double> x;
  std::int64_t dim, stride;

  Stored(DType dtype, const Case& c, std::int64_t d, std::mt19937& random) : dim(d), stride(d + 3) {
    std::normal_distribution<double> normal;
    bytes.resize(static_cast<std::size_t>(block_keys * stride * size_of(dtype)));
    for (std::int64_t j = 0; j < block_keys; ++j)
      for (std::int64_t i = 0; i < d; ++i) {
        const auto y = static_cast<float>(c.at(j, i, normal(random)));
        std::byte* to = bytes.data() + (j * stride + i) * size_of(dtype);
        const auto put = [&](auto stored) { std::memcpy(to, &stored, sizeof stored); };
        if (dtype == DType::f32) put(y);
        if (dtype == DType::f16) put(to_f16(y));
        if (dtype == DType::bf16) put(to_bf16(y));
        x.push_back(dtype == DType::f32   ? y
                    : dtype == DType::f16 ? to_float(to_f16(y))
                                          : to_float(to_bf16(y)));
      }
  }
  [[nodiscard]] double at(std::int64_t j, std::int64_t c) const {
    return x[static_cast<std::size_t>(j * dim + c)];
  }
  [[nodiscard]] double norm(std::int64_t j) const {
    double sum = 0;
    for (std::int64_t c = 0; c < dim; ++c) sum += at(j, c) * at(j, c);
    return std::sqrt(sum);
  }
};

/// above ≥ norm, but for the rounding of f64; and not far above where that is asked for.
void expect_above(double above, double norm, double room, bool tight, const char* what) {
  EXPECT_GE(above, norm * (1 - 1e-12)) << what;
  if (tight) {
    EXPECT_LE(above, norm * 1.002 + room + 0x1p-68) << what;  // 2^-69 is added for squares that vanish
  }
}

/// Of a plane whose groups of four bytes lie a stride apart.
std::uint8_t plane_code(const std::uint8_t* codes, std::int64_t c, std::int64_t stride) {
  constexpr std::array<std::int64_t, 4> order{0, 2, 1, 3};
  const std::int64_t group = c / 32 * 4 + c % 16 / 4;
  return static_cast<std::uint8_t>(
      (codes[group * stride + order[static_cast<std::size_t>(c % 4)]] >> (c % 32 < 16 ? 0 : 4)) & 15);
}

std::uint8_t value_code(const std::uint8_t* codes, std::int64_t c) {
  return static_cast<std::uint8_t>((codes[c / 32 * 16 + c % 16] >> (c % 32 < 16 ? 0 : 4)) & 15);
}

void check(DType dtype, const Case& c, std::int64_t d, std::int64_t value_d) {
  std::mt19937 random(static_cast<unsigned>(1000 * d + value_d));
  const Stored k(dtype, c, d, random);
  const Stored v(dtype, c, value_d, random);
  IndexShape shape;
  shape.dtype = dtype;
  shape.kv_heads = 1;
  shape.head_dim = d;
  shape.value_dim = value_d;
  const Layout layout(shape);
  std::vector<std::byte> coarse_bytes(layout.coarse_bytes), middle_bytes(layout.middle_bytes);
  std::vector<float> scratch(static_cast<std::size_t>(encode_scratch(layout)));
  encode_block(
      kernels(), layout,
      {k.bytes.data(), v.bytes.data(), k.stride, v.stride, dtype, 0, 0, c.pinned, nullptr, nullptr},
      scratch.data(), {layout, coarse_bytes.data()}, {layout, middle_bytes.data()});
  const CoarseBlock<const std::byte> coarse{layout, coarse_bytes.data()};
  const MiddleBlock<const std::byte> middle{layout, middle_bytes.data()};
  const BlockHead& head = coarse.head();

  std::vector<double> centre, step;
  double centre_norm2 = 0;
  for (std::int64_t i = 0; i < d; ++i) {
    centre.push_back(static_cast<double>(head.unit) * to_float(f16{coarse.centre()[i]}));
    step.push_back(static_cast<double>(head.unit) * to_float(f16{coarse.step()[i]}));
    centre_norm2 += centre.back() * centre.back();
  }
  expect_above(head.centre_norm, std::sqrt(centre_norm2), head.unit * 1e-20, c.tight, "centre_norm");

  double key_norm = 0, value_norm = 0, radius = 0;
  int pinned = 0, coarse_most = 0, middle_most = 0;
  for (std::int64_t j = 0; j < block_keys; ++j) {
    SCOPED_TRACE("key " + std::to_string(j));
    bool large = j < c.pinned;
    for (std::int64_t i = 0; i < d; ++i) large = large || std::abs(k.at(j, i)) > 0x1p55;
    for (std::int64_t i = 0; i < value_d; ++i) large = large || std::abs(v.at(j, i)) > 0x1p55;
    key_norm = std::max(key_norm, k.norm(j));
    value_norm = std::max(value_norm, v.norm(j));
    ASSERT_EQ(coarse.norms()[j] == pinned_code, large);
    if (large) {
      ++pinned;
      continue;
    }
    double r4 = 0, r8 = 0;
    for (std::int64_t i = 0; i < d; ++i) {
      const int high = plane_code(coarse.high() + j / 16 * (layout.d32 * 8) + j % 16 * 4, i, 64);
      const int code = 16 * high + plane_code(middle.low() + j * layout.low_stride(), i, 4);
      const double y =
          (k.at(j, i) - centre[static_cast<std::size_t>(i)]) / step[static_cast<std::size_t>(i)];
      r4 += std::pow(y - (high - 7.5), 2);
      r8 += std::pow(y - (code / 16.0 + 1 / 32.0 - 8), 2);
    }
    const int code4 = coarse.norms()[j], code8 = middle.norms()[j];
    coarse_most = std::max(coarse_most, code4);
    middle_most = std::max(middle_most, code8);
    // What a sum over d32 channels in f32 may lose counts where r itself is small.
    const auto d32 = static_cast<double>(layout.d32);
    const double lost = 2 * 0x1p-24 * (d32 + 10) * d32 / 4;
    expect_above(layout.coarse_unit * code4, std::sqrt(r4),
                 1.01 * layout.coarse_unit + std::sqrt(r4 + lost) - std::sqrt(r4), c.tight, "coarse");
    expect_above(layout.middle_unit * code8, std::sqrt(r8),
                 1.01 * layout.middle_unit + std::sqrt(r8 + lost / 256) - std::sqrt(r8), c.tight, "middle");

    const double low = to_float(middle.value_low()[j]);
    const double width = to_float(middle.value_step()[j]);
    double distance = 0, residual = 0, span = 0;
    for (std::int64_t i = 0; i < value_d; ++i) {
      const double y = v.at(j, i) - to_float(coarse.centroid()[i]);
      const int code = value_code(middle.value_codes() + j * layout.value_stride(), i);
      distance += y * y;
      span = std::max(span, std::abs(y));
      residual += std::pow(y - low - width * code, 2);
      EXPECT_LE(std::abs(y - low - width * code), 0.501 * width + 1e-6 * span) << "channel " << i;
    }
    radius = std::max(radius, std::sqrt(distance));
    const double slack = 1e-7 * std::sqrt(double(value_d)) * (span + 64 * width);  // of f32
    expect_above(static_cast<double>(head.residual_unit) * middle.value_norms()[j], std::sqrt(residual),
                 1.01 * head.residual_unit + slack, c.tight, "value residual");
  }
  EXPECT_EQ(head.pinned, pinned);
  EXPECT_EQ(head.coarse_most, coarse_most);
  EXPECT_EQ(head.middle_most, middle_most);
  expect_above(head.key_norm, key_norm, 0, c.tight, "key_norm");
  expect_above(head.value_norm, value_norm, 0, c.tight, "value_norm");
  expect_above(head.radius, radius, 0, c.tight, "radius");
}

TEST(SieveEncode, StoredNormsAreAboveTheTrueOnesAndClose) {
  for_each_target([](const char* target) {
    for (const DType dtype : {DType::f32, DType::f16, DType::bf16})
      for (const auto& [d, value_d] : {std::pair{64, 64}, {128, 96}, {72, 1}, {3, 40}, {1, 33}}) {
        std::vector<Case> all = cases();
        if (dtype == DType::f32)
          for (Case& wide : wide_cases()) all.push_back(std::move(wide));
        for (const Case& c : all) {
          SCOPED_TRACE(std::string(target) + ", " + std::string(name_of(dtype)) + ", " + c.name + ", d " +
                       std::to_string(d) + ", value_d " + std::to_string(value_d));
          check(dtype, c, d, value_d);
          if (::testing::Test::HasFailure()) return;
        }
      }
  });
}

}  // namespace
}  // namespace tamis
