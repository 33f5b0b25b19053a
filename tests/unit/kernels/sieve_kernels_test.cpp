// The kernels that a sparse step runs on codes and weights, against plain loops, on every target.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <random>
#include <vector>

#include "kernels/kernels.h"
#include "support/targets.h"

namespace tamis::test {
namespace {

constexpr int keys = 128;
constexpr std::array counts{1, 2, 3, 5, 8, 16, 31, 33, 64, 127, 128};
using Random = std::mt19937;
using Mask = std::array<std::uint32_t, 4>;

int below(Random& random, int n) { return static_cast<int>(random() % static_cast<unsigned>(n)); }

/// n random floats in 0 … 1, then zeros up to 128.
std::vector<float> weights(Random& random, int n) {
  std::vector<float> w(keys, 0.0F);
  for (int i = 0; i < n; ++i)
    w[static_cast<std::size_t>(i)] = static_cast<float>(below(random, 1 << 20)) * 0x1p-20F;
  return w;
}

std::vector<std::uint8_t> bytes(Random& random, std::int64_t n) {
  std::vector<std::uint8_t> b(static_cast<std::size_t>(n));
  for (auto& x : b) x = static_cast<std::uint8_t>(below(random, 256));
  return b;
}

std::vector<std::int16_t> integers(Random& random, std::int64_t n) {
  std::vector<std::int16_t> x(static_cast<std::size_t>(n));
  for (auto& y : x)
    y = static_cast<std::int16_t>(below(random, 2 * kernels::largest_folded + 1) -
                                  kernels::largest_folded);
  x.front() = kernels::largest_folded;
  x.back() = -kernels::largest_folded;
  return x;
}

bool marked(const Mask& mask, int i) {
  return (mask[static_cast<std::size_t>(i / 32)] >> (i % 32) & 1U) != 0;
}

/// The nibble of channel c among the 16 bytes of every 32 channels, where groups of four bytes may
/// be `group_stride` bytes apart.
int nibble(const std::uint8_t* codes, std::int64_t c, std::int64_t group_stride = 4) {
  constexpr std::array<std::int64_t, 4> order{0, 2, 1, 3};
  const std::int64_t group = c / 32 * 4 + c % 16 / 4;
  const std::uint8_t byte = codes[group * group_stride + order[static_cast<std::size_t>(c % 4)]];
  return c % 32 < 16 ? byte & 15 : byte >> 4;
}

/// `count` of the 128 key indices, ascending.
std::vector<std::uint8_t> list(Random& random, int count) {
  std::vector<std::uint8_t> key;
  for (int j = 0; j < keys; ++j)
    if (below(random, keys - j) < count - static_cast<int>(key.size()))
      key.push_back(static_cast<std::uint8_t>(j));
  return key;
}

TEST(SieveKernels, DotsOfListedKeysAreExact) {
  for_each_target([](const char* target) {
    SCOPED_TRACE(target);
    Random random(1);
    for (const std::int64_t d32 : {32, 64, 96, 128, 256})
      for (const int rows : {1, 2, 3, 4, 5, 7, 8, 16})
        for (const int count : {1, 2, 3, 7, 64, 128}) {
          const std::int64_t stride = d32 / 2 + 16;
          const auto codes = bytes(random, keys * stride);
          const auto xi = integers(random, rows * d32);
          const auto key = list(random, count);
          std::vector<std::int32_t> dot(static_cast<std::size_t>(rows * keys));
          const kernels::Listed listed{codes.data(), key.data(), count};
          kernels::kernels().sieve.dot_listed(listed, stride, d32, xi.data(), rows, dot.data());
          for (int r = 0; r < rows; ++r)
            for (int i = 0; i < count; ++i) {
              std::int32_t sum = 0;
              for (std::int64_t c = 0; c < d32; ++c)
                sum += nibble(codes.data() + key[static_cast<std::size_t>(i)] * stride, c) *
                       xi[static_cast<std::size_t>(r * d32 + c)];
              ASSERT_EQ(dot[static_cast<std::size_t>(r * keys + i)], sum)
                  << d32 << ' ' << r << ' ' << i;
            }
        }
  });
}

TEST(SieveKernels, DotsOfBlocksAreExactUpToTheirConversion) {
  for_each_target([](const char* target) {
    SCOPED_TRACE(target);
    Random random(2);
    for (const std::int64_t d32 : {32, 64, 128, 256, 288, 1024})
      for (const int rows : {1, 2, 3, 4, 6, 16}) {
        const auto high = bytes(random, keys * d32 / 2);
        const auto low = bytes(random, keys * d32 / 2);
        const auto xi = integers(random, rows * d32);
        std::vector<float> one(static_cast<std::size_t>(rows * keys)), two(one.size());
        kernels::kernels().sieve.dots_of_plane(high.data(), d32, xi.data(), rows, one.data(),
                                               high.data());
        kernels::kernels().sieve.dots_of_planes(high.data(), low.data(), d32, xi.data(), rows,
                                                two.data(), high.data(), low.data());
        for (int r = 0; r < rows; ++r)
          for (int j = 0; j < keys; ++j) {
            // Sums of 256 channels are exact; rounding occurs when each is converted and when
            // they are added.
            float one_dot = 0, two_dot = 0;
            for (std::int64_t first = 0; first < d32; first += 256) {
              std::int32_t one_sum = 0, two_sum = 0;
              for (std::int64_t c = first; c < std::min(d32, first + 256); ++c) {
                const std::int32_t x = xi[static_cast<std::size_t>(r * d32 + c)];
                const int h = nibble(high.data() + j / 16 * d32 * 8 + j % 16 * 4, c, 64);
                one_sum += h * x;
                two_sum += (16 * h + nibble(low.data() + j * d32 / 2, c)) * x;
              }
              one_dot =
                  first == 0 ? static_cast<float>(one_sum) : one_dot + static_cast<float>(one_sum);
              two_dot =
                  first == 0 ? static_cast<float>(two_sum) : two_dot + static_cast<float>(two_sum);
            }
            const auto at = static_cast<std::size_t>(r * keys + j);
            ASSERT_EQ(one[at], one_dot) << d32 << ' ' << r << ' ' << j;
            ASSERT_EQ(two[at], two_dot) << d32 << ' ' << r << ' ' << j;
          }
      }
  });
}

TEST(SieveKernels, SumsOfTheLargestProductsDoNotOverflow) {
  for_each_target([](const char* target) {
    SCOPED_TRACE(target);
    const std::int64_t d32 = 1024;
    const std::vector<std::uint8_t> plane(static_cast<std::size_t>(keys * d32 / 2), 0xFF);
    for (const int sign : {1, -1}) {
      const std::vector<std::int16_t> xi(static_cast<std::size_t>(d32),
                                         static_cast<std::int16_t>(sign * kernels::largest_folded));
      std::vector<float> dot(keys);
      kernels::kernels().sieve.dots_of_planes(plane.data(), plane.data(), d32, xi.data(), 1,
                                              dot.data(), plane.data(), plane.data());
      for (const float x : dot)
        EXPECT_EQ(x, static_cast<float>(sign) * 255.0F * 32639.0F * 1024.0F);
    }
  });
}

TEST(SieveKernels, MarksMoreThanABlock) {
  for_each_target([](const char* target) {
    SCOPED_TRACE(target);
    Random random(11);
    for (const int n : {1, 129, 500, 2047, 2048}) {
      std::vector<float> w(static_cast<std::size_t>(n + 16), 0.0F);
      for (int i = 0; i < n; ++i)
        w[static_cast<std::size_t>(i)] = static_cast<float>(below(random, 1000)) * 0x1p-10F;
      std::array<std::uint32_t, 64> mask{};
      kernels::kernels().sieve.mark_above(w.data(), n, 0.25F, mask.data());
      for (int i = 0; i < 2048; ++i)
        ASSERT_EQ((mask[static_cast<std::size_t>(i / 32)] >> (i % 32) & 1U) != 0,
                  i < n && w[static_cast<std::size_t>(i)] > 0.25F)
            << n << ' ' << i;
    }
  });
}

TEST(SieveKernels, PickListsTheKeysThatAnyRowMarksAndSumsTheOthers) {
  for_each_target([](const char* target) {
    SCOPED_TRACE(target);
    Random random(6);
    for (const int rows : {1, 2, 3, 4, 5, 8, 16})
      for (const double share : {0.0, 0.01, 0.3, 0.9, 1.0}) {
        std::vector<float> w;
        for (int r = 0; r < rows; ++r) {
          const auto row = weights(random, keys);
          w.insert(w.end(), row.begin(), row.end());
        }
        // For each row the largest weight that is not to be picked; −1 if all are to be.
        std::vector<float> t(static_cast<std::size_t>(rows));
        for (std::size_t r = 0; r < t.size(); ++r) {
          std::vector<float> sorted(w.begin() + static_cast<std::ptrdiff_t>(r * keys),
                                    w.begin() + static_cast<std::ptrdiff_t>((r + 1) * keys));
          std::ranges::sort(sorted);
          const auto marked = static_cast<std::size_t>(share / rows * keys);
          t[r] = share == 1.0 ? -1.0F : sorted[keys - 1 - std::min<std::size_t>(marked, keys - 1)];
        }
        std::vector<std::uint8_t> key(kernels::picked_stride);
        std::vector<float> picked(static_cast<std::size_t>(rows * kernels::picked_stride), -1.0F);
        std::vector<float> rest(static_cast<std::size_t>(rows));
        const int count = kernels::kernels().sieve.pick(w.data(), rows, t.data(), key.data(),
                                                        picked.data(), rest.data());
        std::vector<double> expected(static_cast<std::size_t>(rows), 0.0);
        int n = 0;
        for (std::size_t j = 0; j < keys; ++j) {
          bool marked = false;
          for (std::size_t r = 0; r < t.size(); ++r) marked = marked || w[r * keys + j] > t[r];
          for (std::size_t r = 0; r < t.size(); ++r) {
            if (marked) {
              EXPECT_EQ(picked[r * kernels::picked_stride + static_cast<std::size_t>(n)],
                        w[r * keys + j]);
            } else {
              expected[r] += static_cast<double>(w[r * keys + j]);
            }
          }
          if (!marked) continue;
          EXPECT_EQ(key[static_cast<std::size_t>(n)], j);
          ++n;
        }
        EXPECT_EQ(count, n);
        for (std::size_t r = 0; r < t.size(); ++r) {
          EXPECT_NEAR(rest[r], expected[r], 128 * 0x1p-24 * expected[r]);
          for (int i = n; i % 16 != 0; ++i)
            EXPECT_EQ(picked[r * kernels::picked_stride + static_cast<std::size_t>(i)], 0.0F);
        }
      }
  });
}

TEST(SieveKernels, WeightsArePowersOfTwoAndTheirSums) {
  for_each_target([](const char* target) {
    SCOPED_TRACE(target);
    Random random(8);
    for (const int rows : {1, 2, 4, 16}) {
      std::vector<kernels::ScanRow> row;
      for (int r = 0; r < rows; ++r) row.push_back({0x1p-20F, static_cast<float>(r) - 3.0F});
      std::vector<float> dot;
      for (int i = 0; i < rows * keys; ++i)
        dot.push_back(static_cast<float>(below(random, 1 << 24) - (1 << 23)));
      std::vector<float> weight = dot, sums(static_cast<std::size_t>(rows)), most(sums.size());
      kernels::kernels().sieve.weigh(rows, row.data(), weight.data(), sums.data(), most.data());
      for (int r = 0; r < rows; ++r) {
        double sum = 0;
        for (int j = 0; j < keys; ++j) {
          const kernels::ScanRow& s = row[static_cast<std::size_t>(r)];
          const auto at = static_cast<std::size_t>(r * keys + j);
          const double product = static_cast<double>(s.step) * static_cast<double>(dot[at]);
          const double exact = std::exp2(product + s.shift);
          // The error of exp2 with its own roundings, plus the two roundings of a product and a
          // sum that are not fused.
          const double size = std::abs(product) + std::abs(s.shift);
          const double error = 2.8e-6 + 4 * 0x1p-24 + 0.7 * 2 * 0x1p-24 * size;
          ASSERT_NEAR(weight[at], exact, error * exact) << r << ' ' << j;
          sum += static_cast<double>(weight[at]);
        }
        ASSERT_NEAR(sums[static_cast<std::size_t>(r)], sum, 128 * 0x1p-24 * sum);
        EXPECT_EQ(most[static_cast<std::size_t>(r)],
                  *std::max_element(weight.begin() + r * keys, weight.begin() + (r + 1) * keys));
        // The two must agree bit for bit, since searches for thresholds use them interchangeably.
        const std::array<float, 4> limits{most[static_cast<std::size_t>(r)], 1e30F, 1e30F, 1e30F};
        std::array<float, 4> below{};
        kernels::kernels().sieve.sums_below(weight.data() + r * keys, keys, limits.data(),
                                            below.data());
        for (const float x : below) EXPECT_EQ(x, sums[static_cast<std::size_t>(r)]);
      }
    }
  });
}

TEST(SieveKernels, TailSumsTakeWhatStaysBelowAtEitherOfTwoLevels) {
  for_each_target([](const char* target) {
    SCOPED_TRACE(target);
    Random random(3);
    for (const int n : counts) {
      const auto w = weights(random, n);
      const std::array<float, 4> t{0.01F, 0.02F, 0.05F, 0.125F};
      // These are powers of two, so that products are exact.
      for (const float third : {0x1p-5F, 0x1p-9F, 0.0F}) {
        const std::array<float, 3> left{0.25F, 0x1p-5F, third};
        std::array<float, 4> sum{};
        kernels::kernels().sieve.tail_sums(w.data(), n, left.data(), t.data(), sum.data());
        for (std::size_t i = 0; i < 4; ++i) {
          double expected = 0;
          for (int j = 0; j < n; ++j) {
            const float x = w[static_cast<std::size_t>(j)];
            const float a = left[0] * x;
            const float b = left[1] * x;
            expected += static_cast<double>(a <= t[i] ? a : b <= t[i] ? b : left[2] * x);
          }
          EXPECT_NEAR(sum[i], expected, 128 * 0x1p-24 * expected) << n << ' ' << i;
        }
      }
    }
  });
}

TEST(SieveKernels, SumsOfTheUnmarkedFollowTheirMask) {
  for_each_target([](const char* target) {
    SCOPED_TRACE(target);
    Random random(4);
    for (const int n : counts) {
      const auto w = weights(random, n);
      Mask mask;
      for (auto& word : mask) word = static_cast<std::uint32_t>(random());
      double unmarked = 0;
      for (int i = 0; i < n; ++i)
        unmarked += marked(mask, i) ? 0 : static_cast<double>(w[static_cast<std::size_t>(i)]);
      EXPECT_NEAR(kernels::kernels().sieve.sum_unmarked(w.data(), n, mask.data()), unmarked,
                  128 * 0x1p-24 * unmarked);
    }
  });
}

TEST(SieveKernels, PickMarkedTakesWhatIsMarkedInOrder) {
  for_each_target([](const char* target) {
    SCOPED_TRACE(target);
    Random random(7);
    for (const int n : counts)
      for (const int rows : {1, 3, 4, 16}) {
        std::vector<float> w(static_cast<std::size_t>(rows * kernels::picked_stride));
        for (auto& x : w) x = static_cast<float>(below(random, 1000));
        auto key = list(random, n);
        key.resize(static_cast<std::size_t>(kernels::picked_stride));
        Mask mask{};
        for (int i = 0; i < n; ++i)
          if (below(random, 3) == 0) mask[static_cast<std::size_t>(i / 32)] |= 1U << (i % 32);
        std::vector<std::uint8_t> picked_key(kernels::picked_stride);
        std::vector<float> picked_w(static_cast<std::size_t>(rows * kernels::picked_stride), -1.0F);
        const int count = kernels::kernels().sieve.pick_marked(
            key.data(), n, mask.data(), rows, w.data(), picked_key.data(), picked_w.data());
        int found = 0;
        for (int i = 0; i < n; ++i) {
          if (!marked(mask, i)) continue;
          EXPECT_EQ(picked_key[static_cast<std::size_t>(found)], key[static_cast<std::size_t>(i)]);
          for (int r = 0; r < rows; ++r)
            EXPECT_EQ(picked_w[static_cast<std::size_t>(r * kernels::picked_stride + found)],
                      w[static_cast<std::size_t>(r * kernels::picked_stride + i)]);
          ++found;
        }
        EXPECT_EQ(count, found);
        for (int r = 0; r < rows && count > 0; ++r)
          for (int i = count; i % 16 != 0; ++i)
            EXPECT_EQ(picked_w[static_cast<std::size_t>(r * kernels::picked_stride + i)], 0.0F);
      }
  });
}

}  // namespace
}  // namespace tamis::test
