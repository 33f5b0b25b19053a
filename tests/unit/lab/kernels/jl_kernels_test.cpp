// The kernels of kernels/jl.h on every target: the numbers come from the cipher and are normal,
// and products equal those of plain loops.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <vector>

#include "lab/numbers/random.h"
#include "support/targets.h"

namespace tamis {
namespace {

/// Box and Muller in f64 from the two words, as jl.h describes.
double pair_of(std::uint32_t first, std::uint32_t second, double& a, double& b) {
  const double radius = std::sqrt(-2 * std::log((first + 0.5) * 0x1p-32));
  const double angle = static_cast<std::int32_t>(second << 2U) * 0x1p-31 * M_PI / 4;
  const double sign = (second >> 31U) != 0 ? -1 : 1;
  a = sign * radius * std::cos(angle);
  b = sign * radius * std::sin(angle);
  if (((second >> 30U) & 1U) != 0) std::swap(a, b);
  return radius;
}

TEST(JlKernels, NormalsAreThoseOfTheCipherOnEveryTarget) {
  constexpr std::uint64_t seed = 0x0123456789ABCDEF;
  constexpr std::uint64_t row = 0xFEDCBA9876543210;
  constexpr std::int64_t blocks = 64;
  test::for_each_target([&](const char* target) {
    std::vector<float> out(4 * blocks);
    lab::kernels::lab_kernels().jl.normals(seed, 77, row, 0xFFFFFFF0U, blocks, out.data());
    for (std::int64_t b = 0; b < blocks; ++b) {
      const auto words = lab::numbers::philox(
          {static_cast<std::uint32_t>(0xFFFFFFF0U + b), 77, static_cast<std::uint32_t>(row),
           static_cast<std::uint32_t>(row >> 32)},
          {static_cast<std::uint32_t>(seed), static_cast<std::uint32_t>(seed >> 32)});
      double x[4];
      const double radius[2] = {pair_of(words[0], words[1], x[0], x[1]),
                                pair_of(words[2], words[3], x[2], x[3])};
      // The uniform is rounded to 2^-24 at most, its logarithm and the rest to a few units of
      // 2^-24. The squared radius is therefore off by 2^-23 plus a fraction of itself.
      for (int w = 0; w < 4; ++w)
        EXPECT_NEAR(out[static_cast<std::size_t>(w * blocks + b)], x[w],
                    0x1p-20 * std::abs(x[w]) + 0x1p-22 / radius[w / 2])
            << target;
    }
  });
}

TEST(JlKernels, NormalsHaveTheMomentsOfNormals) {
  constexpr std::int64_t blocks = 1 << 16;
  std::vector<float> out(4 * blocks);
  lab::kernels::lab_kernels().jl.normals(5, 0, 1, 0, blocks, out.data());
  double moment[5] = {};
  double cross = 0;
  for (std::size_t i = 0; i < out.size(); ++i) {
    double power = 1;
    for (double& sum : moment) {
      sum += power;
      power *= out[i];
    }
    cross += out[i] * out[(i + blocks) % out.size()];
  }
  const double n = moment[0];
  // Five standard deviations, which are 1, √2, √15 and √96 divided by √n. One in two million tests
  // would fail by chance.
  EXPECT_NEAR(moment[1] / n, 0, 5 / std::sqrt(n));
  EXPECT_NEAR(moment[2] / n, 1, 5 * std::sqrt(2 / n));
  EXPECT_NEAR(moment[3] / n, 0, 5 * std::sqrt(15 / n));
  EXPECT_NEAR(moment[4] / n, 3, 5 * std::sqrt(96 / n));
  EXPECT_NEAR(cross / n, 0, 5 / std::sqrt(n));
}

TEST(JlKernels, ProductsAreThoseOfPlainLoopsForEveryShape) {
  constexpr std::int64_t stride = 704;
  constexpr std::int64_t most = 13;
  std::vector<float> x(most * stride);
  std::vector<float> y(most * stride);
  const lab::numbers::Stream stream(1, lab::numbers::Purpose::test, 3);
  for (std::size_t i = 0; i < x.size(); ++i) {
    x[i] = static_cast<float>(stream.normal(static_cast<std::uint32_t>(2 * i)));
    y[i] = static_cast<float>(stream.normal(static_cast<std::uint32_t>(2 * i + 1)));
  }
  test::for_each_target([&](const char* target) {
    const lab::kernels::JlKernels& jl = lab::kernels::lab_kernels().jl;
    for (const std::int64_t n : {64, 256, 320, 704})
      for (const std::int64_t nx : {1, 2, 5, 8, 13})
        for (const std::int64_t ny : {1, 2, 3, 4, 7}) {
          std::vector<float> c(static_cast<std::size_t>(nx * ny));
          std::vector<double> c64(c.size());
          jl.dots(x.data(), nx, y.data(), ny, stride, n, c.data(), ny);
          jl.dots_f64(x.data(), nx, y.data(), ny, stride, n, c64.data(), ny);
          std::vector<float> mixed(static_cast<std::size_t>(ny * stride), 1.0F);
          jl.mix(c.data(), nx, ny, x.data(), stride, nx, n, mixed.data(), stride);  // c as ny × nx
          std::vector<double> mixed64(stride);
          jl.mix_f64(c64.data(), x.data(), stride, nx, n, mixed64.data());
          for (std::int64_t i = 0; i < nx; ++i)
            for (std::int64_t j = 0; j < ny; ++j) {
              double sum = 0;
              double size = 0;
              for (std::int64_t t = 0; t < n; ++t) {
                const double term =
                    static_cast<double>(x[static_cast<std::size_t>(i * stride + t)]) *
                    y[static_cast<std::size_t>(j * stride + t)];
                sum += term;
                size += std::abs(term);
              }
              const auto at = static_cast<std::size_t>(i * ny + j);
              // n additions and n rounded products: γ_{n+1} of Higham in the arithmetic
              // that is used.
              const auto steps = static_cast<double>(n + 1);
              EXPECT_NEAR(c[at], sum, steps * 0x1p-24 * size * 1.01) << target;
              EXPECT_NEAR(c64[at], sum, 2 * steps * 0x1p-53 * size * 1.01) << target;
            }
          for (std::int64_t t = 0; t < n; t += 61) {
            double sum64 = 0;
            double size64 = 0;
            for (std::int64_t i = 0; i < nx; ++i) {
              const double term =
                  c64[static_cast<std::size_t>(i)] * x[static_cast<std::size_t>(i * stride + t)];
              sum64 += term;
              size64 += std::abs(term);
            }
            EXPECT_NEAR(mixed64[static_cast<std::size_t>(t)], sum64,
                        2 * static_cast<double>(nx + 1) * 0x1p-53 * size64 * 1.01)
                << target;
            for (std::int64_t j = 0; j < ny; ++j) {
              double sum = 1;
              double size = 1;
              for (std::int64_t i = 0; i < nx; ++i) {
                const double term = static_cast<double>(c[static_cast<std::size_t>(j * nx + i)]) *
                                    x[static_cast<std::size_t>(i * stride + t)];
                sum += term;
                size += std::abs(term);
              }
              EXPECT_NEAR(mixed[static_cast<std::size_t>(j * stride + t)], sum,
                          static_cast<double>(nx + 1) * 0x1p-24 * size * 1.01)
                  << target;
            }
          }
        }
  });
}

/// Sums of hundreds of vectors are computed in tiles, but the result must be as if vectors were
/// added one after another.
TEST(JlKernels, SumsOfManyVectorsHaveTheBitsOfSumsOneByOne) {
  constexpr std::int64_t stride = 704;
  constexpr std::int64_t count = 150;
  constexpr std::int64_t rows = 7;
  std::vector<float> x(count * stride);
  std::vector<float> a(rows * count);
  const lab::numbers::Stream stream(1, lab::numbers::Purpose::test, 4);
  std::uint32_t next = 0;
  for (std::vector<float>* each : {&x, &a})
    for (float& value : *each) value = static_cast<float>(stream.normal(next += 2));
  test::for_each_target([&](const char* target) {
    const lab::kernels::JlKernels& jl = lab::kernels::lab_kernels().jl;
    std::vector<float> at_once(rows * stride, 0.5F);
    std::vector<float> one_by_one = at_once;
    jl.mix(a.data(), count, rows, x.data(), stride, count, stride, at_once.data(), stride);
    for (std::int64_t i = 0; i < count; ++i)
      jl.mix(a.data() + i, count, rows, x.data() + i * stride, stride, 1, stride, one_by_one.data(),
             stride);
    EXPECT_EQ(at_once, one_by_one) << target;
  });
}

}  // namespace
}  // namespace tamis
