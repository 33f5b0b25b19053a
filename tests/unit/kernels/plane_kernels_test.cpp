// The kernels of blocks in planes on every target, against plain loops in f64.
#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <cstdint>
#include <random>
#include <vector>

#include <tamis/dtype.h>
#include "kernels/kernels.h"
#include "support/targets.h"

namespace tamis {
namespace {

using test::for_each_target;

constexpr double u = 0x1p-24;

std::vector<float> normals(std::size_t n, std::mt19937& random, double size = 1.0) {
  std::normal_distribution<double> normal(0.0, size);
  std::vector<float> x(n);
  for (float& y : x) y = static_cast<float>(normal(random));
  return x;
}

std::vector<std::uint16_t> halves(std::size_t n, std::mt19937& random) {
  std::vector<std::uint16_t> x;
  for (const float y : normals(n, random, 1000.0)) x.push_back(to_f16(y).bits);
  return x;
}

double f16_at(const std::vector<std::uint16_t>& x, std::int64_t c) {
  return to_float(f16{x[static_cast<std::size_t>(c)]});
}

TEST(PlaneKernels, SharpeningMultipliesEachWeightByItsPowerOfTwo) {
  std::mt19937 random(1);
  std::uniform_int_distribution<std::int32_t> integer(-2'000'000, 2'000'000);
  test::for_each_target([&](const char* name) {
    SCOPED_TRACE(name);
    for (const int count : {0, 1, 7, 16, 17, 100, 128}) {
      const auto room = static_cast<std::size_t>((count + 15) / 16 * 16);
      std::vector<float> before(room, 1.0F), after(room, -1.0F);
      std::vector<std::int32_t> dot(room);
      for (float& w : before) w = std::ldexp(1.0F, static_cast<int>(random() % 40) - 20);
      for (std::int32_t& x : dot) x = integer(random);
      const float step = 7e-6F;
      const float shift = -3.5F;
      kernels::kernels().sieve.sharpen(before.data(), dot.data(), count, step, shift, after.data());
      for (int i = 0; i < count; ++i) {
        const auto at = static_cast<std::size_t>(i);
        const double exponent = static_cast<double>(step) * dot[at] + shift;
        const double exact = before[at] * std::exp2(exponent);
        // The bound covers two roundings of numbers below 18 in the exponent, and the rounding of
        // the exponential and of the product.
        EXPECT_NEAR(after[at], exact, exact * (2 * 18 * u + kernels::exp2_relative_error + 2 * u))
            << i;
      }
    }
  });
}

TEST(PlaneKernels, SharpeningNeverOverflowsAndGoesToZeroWhereNothingIsLeft) {
  test::for_each_target([&](const char* name) {
    SCOPED_TRACE(name);
    std::vector<float> before(16, 1.0F), after(16);
    std::vector<std::int32_t> dot(16, 0);
    dot[0] = 1 << 30;
    dot[1] = -(1 << 30);
    kernels::kernels().sieve.sharpen(before.data(), dot.data(), 16, 1.0F, 0.0F, after.data());
    EXPECT_EQ(after[0], 0x1p126F);
    EXPECT_EQ(after[1], 0.0F);
    EXPECT_EQ(after[2], 1.0F);
  });
}

TEST(PlaneKernels, DistancesAreThoseFromTheCentreInItsUnit) {
  std::mt19937 random(2);
  test::for_each_target([&](const char* name) {
    SCOPED_TRACE(name);
    for (const std::int64_t d32 : {32, 64, 96, 1024})
      for (const int rows : {1, 2, 3, 4, 7, 16}) {
        const float unit = 0x1p-9F;
        const std::vector<std::uint16_t> centre = halves(static_cast<std::size_t>(d32), random);
        const std::vector<float> o = normals(static_cast<std::size_t>(rows * d32), random);
        std::vector<float> squares(static_cast<std::size_t>(rows));
        kernels::kernels().sieve.distances(centre.data(), unit, d32, o.data(), rows,
                                           squares.data());
        for (std::int64_t r = 0; r < rows; ++r) {
          double sum = 0;
          for (std::int64_t c = 0; c < d32; ++c) {
            const double away = unit * f16_at(centre, c) - o[static_cast<std::size_t>(r * d32 + c)];
            sum += away * away;
          }
          EXPECT_NEAR(squares[static_cast<std::size_t>(r)], sum,
                      sum * static_cast<double>(d32 + 4) * u);
        }
      }
  });
}

TEST(PlaneKernels, ValuesAreAddedAsSumsOfNibblesOfSeveralPlanes) {
  std::mt19937 random(3);
  constexpr std::array<int, 3> counts{7, 3, 1};
  test::for_each_target([&](const char* name) {
    SCOPED_TRACE(name);
    for (const std::int64_t d32 : {32, 96, 128})
      for (const int rows : {1, 2, 3, 4, 16})
        for (const int planes : {0, 1, 3}) {
          const std::int64_t out_stride = d32 + 64;
          const std::int64_t row_bytes = d32 / 2;
          constexpr std::int64_t weight_stride = 16;
          const float unit = 0x1p-9F;
          const auto centre = halves(static_cast<std::size_t>(d32), random);
          const auto step = halves(static_cast<std::size_t>(d32), random);
          const auto half = normals(static_cast<std::size_t>(rows), random);
          const auto used = normals(static_cast<std::size_t>(rows), random);
          const auto before = normals(static_cast<std::size_t>(rows * out_stride), random);
          std::array<std::vector<std::uint8_t>, 3> plane, token;
          std::array<std::vector<float>, 3> weight;
          kernels::ListedNibbles listed{};
          listed.planes = planes;
          listed.weight_stride = weight_stride;
          for (std::size_t p = 0; p < 3; ++p) {
            for (std::int64_t i = 0; i < 128 * row_bytes; ++i)
              plane[p].push_back(static_cast<std::uint8_t>(random()));
            for (int i = 0; i < counts[p]; ++i)
              token[p].push_back(static_cast<std::uint8_t>(11 * i + 5));
            weight[p] = normals(static_cast<std::size_t>(rows * weight_stride), random);
            listed.plane[p] = plane[p].data();
            listed.token[p] = token[p].data();
            listed.weight[p] = weight[p].data();
            listed.count[p] = counts[p];
          }
          auto out = before;
          kernels::kernels().sieve.add_values(listed, row_bytes, centre.data(), step.data(), unit,
                                              d32, rows, half.data(), used.data(), out.data(),
                                              out_stride);
          for (std::int64_t r = 0; r < rows; ++r)
            for (std::int64_t c = 0; c < out_stride; ++c) {
              const auto at = static_cast<std::size_t>(r * out_stride + c);
              const auto row = static_cast<std::size_t>(r);
              if (c >= d32) {
                EXPECT_EQ(out[at], before[at]);
                continue;
              }
              double sum = -half[row];
              double size = std::abs(sum);
              for (std::size_t p = 0; p < static_cast<std::size_t>(planes); ++p)
                for (std::size_t i = 0; i < token[p].size(); ++i) {
                  const auto byte = plane[p][static_cast<std::size_t>(token[p][i] * row_bytes +
                                                                      c / 32 * 16 + c % 16)];
                  const double term =
                      weight[p][row * weight_stride + i] * (c % 32 < 16 ? byte & 15 : byte >> 4);
                  sum += term;
                  size += std::abs(term);
                }
              const double coded = unit * f16_at(step, c);
              const double middle = unit * f16_at(centre, c) * used[row];
              // Each term is rounded at most 16 times.
              EXPECT_NEAR(
                  out[at], before[at] + middle + coded * sum,
                  16 * u * (std::abs(coded) * size + std::abs(middle) + std::abs(before[at])));
            }
        }
  });
}

}  // namespace
}  // namespace tamis
