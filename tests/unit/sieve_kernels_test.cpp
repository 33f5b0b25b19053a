// Kernels that a sparse step runs on codes and weights, against plain loops, on every target.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <random>
#include <vector>

#include "kernels/kernels.h"
#include "support/targets.h"

namespace tamis::testing {
namespace {

constexpr int keys = 128;
constexpr std::array counts{1, 2, 3, 5, 8, 16, 31, 33, 64, 127, 128};
using Random = std::mt19937;
using Mask = std::array<std::uint32_t, 4>;

int below(Random& random, int n) { return static_cast<int>(random() % static_cast<unsigned>(n)); }

/// n floats in 0 … 1, then zeros up to 128.
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
  for (auto& y : x) y = static_cast<std::int16_t>(below(random, 65535) - 32767);
  return x;
}

bool marked(const Mask& mask, int i) {
  return (mask[static_cast<std::size_t>(i / 32)] >> (i % 32) & 1U) != 0;
}

/// `count` of 128 keys, ascending.
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
          const Listed listed{codes.data(), key.data(), count};
          kernels().sieve.dot_listed(listed, stride, d32, xi.data(), rows, dot.data());
          for (int r = 0; r < rows; ++r)
            for (int i = 0; i < count; ++i) {
              std::int32_t sum = 0;
              for (std::int64_t c = 0; c < d32; ++c) {
                const std::uint8_t byte = codes[static_cast<std::size_t>(
                    key[static_cast<std::size_t>(i)] * stride + c / 32 * 16 + c % 16)];
                sum += (c % 32 < 16 ? byte & 15 : byte >> 4) * xi[static_cast<std::size_t>(r * d32 + c)];
              }
              ASSERT_EQ(dot[static_cast<std::size_t>(r * keys + i)], sum) << d32 << ' ' << r << ' ' << i;
            }
        }
  });
}

TEST(SieveKernels, ScanBoundsEveryKeyAndSumsThem) {
  for_each_target([](const char* target) {
    SCOPED_TRACE(target);
    Random random(2);
    for (const std::int64_t d4 : {4, 36, 64, 128})
      for (const int rows : {1, 2, 3, 4, 6, 16}) {
        const auto high = bytes(random, keys * d4 / 2);
        const auto e = bytes(random, keys);
        const auto xi = integers(random, rows * d4);
        std::vector<ScanRow> row;
        for (int r = 0; r < rows; ++r)
          row.push_back({0.01F * static_cast<float>(r), 0x1p-20F / static_cast<float>(d4), -3.0F});
        std::vector<float> weight(static_cast<std::size_t>(rows * keys));
        std::vector<float> sums(static_cast<std::size_t>(rows)), most(static_cast<std::size_t>(rows));
        kernels().sieve.scan(high.data(), d4, e.data(), xi.data(), d4, rows, row.data(), weight.data(),
                             sums.data(), most.data(), high.data(), 0);
        for (int r = 0; r < rows; ++r) {
          double sum = 0;
          for (int j = 0; j < keys; ++j) {
            std::int64_t dot = 0;
            for (std::int64_t c = 0; c < d4; ++c) {
              const std::uint8_t byte =
                  high[static_cast<std::size_t>(j / 16 * d4 * 8 + c / 4 * 32 + j % 16 * 2 + c % 2)];
              dot += (c % 4 < 2 ? byte & 15 : byte >> 4) * xi[static_cast<std::size_t>(r * d4 + c)];
            }
            const ScanRow& s = row[static_cast<std::size_t>(r)];
            const double up = static_cast<double>(s.slope) * e[static_cast<std::size_t>(j)];
            const double product = static_cast<double>(s.step) * static_cast<double>(dot);
            const double exact = std::exp2(up + product + s.shift);
            // What exp2 errs by with its own roundings, and five roundings of parts of the exponent.
            const double size = std::abs(up) + std::abs(product) + std::abs(s.shift);
            const double error = 2.8e-6 + 4 * 0x1p-24 + 0.7 * 5 * 0x1p-24 * size;
            const double found = weight[static_cast<std::size_t>(r * keys + j)];
            ASSERT_NEAR(found, exact, error * exact) << d4 << ' ' << r << ' ' << j;
            sum += found;
          }
          ASSERT_NEAR(sums[static_cast<std::size_t>(r)], sum, 128 * 0x1p-24 * sum);
          EXPECT_EQ(most[static_cast<std::size_t>(r)],
                    *std::max_element(weight.begin() + r * keys, weight.begin() + (r + 1) * keys));
        }
      }
  });
}

TEST(SieveKernels, PartSumsFollowTheirMasks) {
  for_each_target([](const char* target) {
    SCOPED_TRACE(target);
    Random random(3);
    for (const int n : counts) {
      const auto w = weights(random, n);
      const auto delta = weights(random, n);
      Mask valued, whole;
      for (std::size_t i = 0; i < 4; ++i) {
        valued[i] = static_cast<std::uint32_t>(random());
        whole[i] = valued[i] & static_cast<std::uint32_t>(random());
      }
      std::array<double, 5> sum{};
      for (int i = 0; i < n; ++i) {
        const double x = w[static_cast<std::size_t>(i)];
        const double y = delta[static_cast<std::size_t>(i)];
        sum[0] += x;
        sum[1] += y;
        sum[2] += marked(valued, i) ? 0 : x;
        sum[3] += marked(valued, i) ? 0 : y;
        sum[4] += marked(whole, i) ? x : 0;
      }
      const PartSums part =
          kernels().sieve.part_sums(w.data(), delta.data(), n, valued.data(), whole.data());
      const std::array<float, 5> found{part.used, part.spread, part.centroid_used, part.centroid_spread,
                                       part.exact_used};
      for (std::size_t i = 0; i < 5; ++i)
        EXPECT_NEAR(found[i], sum[i], 128 * 0x1p-24 * sum[i]) << n << ' ' << i;
      double unmarked = 0;
      for (int i = 0; i < n; ++i)
        unmarked += marked(whole, i) ? 0 : static_cast<double>(w[static_cast<std::size_t>(i)]);
      EXPECT_NEAR(kernels().sieve.sum_unmarked(w.data(), n, whole.data()), unmarked,
                  128 * 0x1p-24 * unmarked);
      EXPECT_NEAR(kernels().sieve.sum_marked(w.data(), n, whole.data()), sum[4], 128 * 0x1p-24 * sum[4]);
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
        // The smallest of a row's weights that is not marked; infinity for none.
        std::vector<float> t(static_cast<std::size_t>(rows));
        for (std::size_t r = 0; r < t.size(); ++r) {
          std::vector<float> sorted(w.begin() + static_cast<std::ptrdiff_t>(r * keys),
                                    w.begin() + static_cast<std::ptrdiff_t>((r + 1) * keys));
          std::ranges::sort(sorted);
          const auto marked = static_cast<std::size_t>(share / rows * keys);
          t[r] = share == 1.0 ? -1.0F : sorted[keys - 1 - std::min<std::size_t>(marked, keys - 1)];
        }
        std::vector<std::uint8_t> coarse(keys), middle(keys);
        for (auto& e : coarse) e = static_cast<std::uint8_t>(below(random, 256));
        for (auto& e : middle) e = static_cast<std::uint8_t>(below(random, 256));
        std::vector<std::uint8_t> key(picked_stride), picked_coarse(picked_stride),
            picked_middle(picked_stride);
        std::vector<float> picked(static_cast<std::size_t>(rows * picked_stride), -1.0F);
        std::vector<float> rest(static_cast<std::size_t>(rows));
        const int count = kernels().sieve.pick(
            w.data(), rows, t.data(), coarse.data(), middle.data(),
            {key.data(), picked_coarse.data(), picked_middle.data(), picked.data()}, rest.data());
        std::vector<double> expected(static_cast<std::size_t>(rows), 0.0);
        int n = 0;
        for (std::size_t j = 0; j < keys; ++j) {
          bool marked = false;
          for (std::size_t r = 0; r < t.size(); ++r) marked = marked || w[r * keys + j] > t[r];
          for (std::size_t r = 0; r < t.size(); ++r) {
            if (marked) {
              EXPECT_EQ(picked[r * picked_stride + static_cast<std::size_t>(n)], w[r * keys + j]);
            } else {
              expected[r] += static_cast<double>(w[r * keys + j]);
            }
          }
          if (!marked) continue;
          EXPECT_EQ(key[static_cast<std::size_t>(n)], j);
          EXPECT_EQ(picked_coarse[static_cast<std::size_t>(n)], coarse[j]);
          EXPECT_EQ(picked_middle[static_cast<std::size_t>(n)], middle[j]);
          ++n;
        }
        EXPECT_EQ(count, n);
        for (std::size_t r = 0; r < t.size(); ++r) {
          EXPECT_NEAR(rest[r], expected[r], 128 * 0x1p-24 * expected[r]);
          for (int i = n; i % 16 != 0; ++i)
            EXPECT_EQ(picked[r * picked_stride + static_cast<std::size_t>(i)], 0.0F);
        }
      }
  });
}

TEST(SieveKernels, PickMarkedTakesWhatIsMarkedInOrder) {
  for_each_target([](const char* target) {
    SCOPED_TRACE(target);
    Random random(7);
    for (const int n : counts)
      for (const int rows : {1, 3, 4, 16}) {
        const std::int64_t stride = (n + 15) / 16 * 16;
        std::vector<float> w(static_cast<std::size_t>(rows * stride)), delta(w.size());
        for (auto& x : w) x = static_cast<float>(below(random, 1000));
        for (auto& x : delta) x = static_cast<float>(below(random, 1000));
        auto key = list(random, n);
        key.resize(static_cast<std::size_t>(picked_stride));
        Mask mask{};
        for (int i = 0; i < n; ++i)
          if (below(random, 3) == 0) mask[static_cast<std::size_t>(i / 32)] |= 1U << (i % 32);
        std::vector<std::uint8_t> picked_key(picked_stride);
        std::vector<float> picked_w(static_cast<std::size_t>(rows * picked_stride), -1.0F);
        auto picked_delta = picked_w;
        const int count =
            kernels().sieve.pick_marked(key.data(), n, mask.data(), rows, w.data(), delta.data(), stride,
                                        picked_key.data(), picked_w.data(), picked_delta.data());
        int found = 0;
        for (int i = 0; i < n; ++i) {
          if (!marked(mask, i)) continue;
          EXPECT_EQ(picked_key[static_cast<std::size_t>(found)], key[static_cast<std::size_t>(i)]);
          for (int r = 0; r < rows; ++r) {
            const auto from = static_cast<std::size_t>(r * stride + i);
            const auto to = static_cast<std::size_t>(r * picked_stride + found);
            EXPECT_EQ(picked_w[to], w[from]);
            EXPECT_EQ(picked_delta[to], delta[from]);
          }
          ++found;
        }
        EXPECT_EQ(count, found);
        for (int r = 0; r < rows && count > 0; ++r)
          for (int i = count; i % 16 != 0; ++i)
            EXPECT_EQ(picked_w[static_cast<std::size_t>(r * picked_stride + i)], 0.0F);
      }
  });
}

TEST(SieveKernels, CodedSumsKeepWithinTheirBound) {
  for_each_target([](const char* target) {
    SCOPED_TRACE(target);
    Random random(4);
    for (const int n : counts) {
      const auto w = weights(random, n);
      const auto delta = weights(random, n);
      const auto size = weights(random, n);
      const auto low = weights(random, n);
      const auto residual = weights(random, n);
      std::vector<float> p(keys);
      const CodedSums sums = kernels().sieve.weigh_codes(w.data(), delta.data(), size.data(), low.data(),
                                                         residual.data(), n, p.data());
      double low_sum = 0;
      double product = 0;
      for (std::size_t i = 0; i < static_cast<std::size_t>(n); ++i) {
        EXPECT_EQ(p[i], w[i] * size[i]);
        low_sum += static_cast<double>(w[i]) * low[i];
        product += (static_cast<double>(w[i]) + 2 * static_cast<double>(delta[i])) * residual[i];
      }
      EXPECT_NEAR(sums.low, low_sum, 136 * 0x1p-24 * low_sum);
      EXPECT_NEAR(sums.product, product, 136 * 0x1p-24 * product + 0x1p-140);
    }
  });
}

TEST(SieveKernels, RefineReturnsTheSumOfItsEstimates) {
  for_each_target([](const char* target) {
    SCOPED_TRACE(target);
    Random random(5);
    for (const int n : counts) {
      const auto before = weights(random, n);
      std::vector<float> w(keys, 1.0F);
      std::vector<float> delta(keys, 1.0F);
      std::vector<std::uint8_t> e4(keys, 7);
      std::vector<std::uint8_t> e8(keys, 7);
      std::vector<std::int32_t> dot(keys, 12345);
      for (std::size_t i = 0; i < static_cast<std::size_t>(n); ++i) {
        e4[i] = static_cast<std::uint8_t>(below(random, 255));
        e8[i] = static_cast<std::uint8_t>(below(random, 255));
        dot[i] = below(random, 1 << 20);
      }
      const float sum = kernels().sieve.refine(before.data(), w.data(), delta.data(), dot.data(), e4.data(),
                                               e8.data(), n, -0.01F, 0x1p-20F, -0.5F, 0.003F, 0.001F);
      for (int i = n; i % 16 != 0; ++i) EXPECT_EQ(w[static_cast<std::size_t>(i)], 0.0F);
      for (int i = n; i % 16 != 0; ++i) EXPECT_EQ(delta[static_cast<std::size_t>(i)], 0.0F);
      double total = 0;
      for (std::size_t i = 0; i < static_cast<std::size_t>(n); ++i) {
        const double estimate = before[i] * std::exp2(-0.01 * e4[i] + 0x1p-20 * dot[i] - 0.5);
        EXPECT_NEAR(w[i], estimate, 1e-6 * estimate) << n << ' ' << i;
        EXPECT_GE(delta[i], w[i] * std::expm1(0.00299 * e8[i] + 0.00099)) << n << ' ' << i;
        total += static_cast<double>(w[i]);
      }
      EXPECT_NEAR(sum, total, 128 * 0x1p-24 * total);
    }
  });
}

}  // namespace
}  // namespace tamis::testing
