// Kernels that a sparse step runs on codes and weights, against plain loops, on every target.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <random>
#include <vector>

#include <tamis/dtype.h>

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
  for (auto& y : x) y = static_cast<std::int16_t>(below(random, 2 * largest_folded + 1) - largest_folded);
  x.front() = largest_folded;
  x.back() = -largest_folded;
  return x;
}

bool marked(const Mask& mask, int i) {
  return (mask[static_cast<std::size_t>(i / 32)] >> (i % 32) & 1U) != 0;
}

/// The nibble of channel c among the 16 bytes of every 32 channels; groups of four bytes may lie apart.
int nibble(const std::uint8_t* codes, std::int64_t c, std::int64_t group_stride = 4) {
  constexpr std::array<std::int64_t, 4> order{0, 2, 1, 3};
  const std::int64_t group = c / 32 * 4 + c % 16 / 4;
  const std::uint8_t byte = codes[group * group_stride + order[static_cast<std::size_t>(c % 4)]];
  return c % 32 < 16 ? byte & 15 : byte >> 4;
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
              for (std::int64_t c = 0; c < d32; ++c)
                sum += nibble(codes.data() + key[static_cast<std::size_t>(i)] * stride, c) *
                       xi[static_cast<std::size_t>(r * d32 + c)];
              ASSERT_EQ(dot[static_cast<std::size_t>(r * keys + i)], sum) << d32 << ' ' << r << ' ' << i;
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
        std::vector<float> coarse(static_cast<std::size_t>(rows * keys)), middle(coarse.size());
        kernels().sieve.coarse_dots(high.data(), d32, xi.data(), rows, coarse.data(), high.data());
        kernels().sieve.middle_dots(high.data(), low.data(), d32, xi.data(), rows, middle.data(),
                                    high.data(), low.data());
        for (int r = 0; r < rows; ++r)
          for (int j = 0; j < keys; ++j) {
            // Sums of 256 channels are exact; each is rounded, and so is every sum of them.
            float coarse_dot = 0, middle_dot = 0;
            for (std::int64_t first = 0; first < d32; first += 256) {
              std::int32_t coarse_sum = 0, middle_sum = 0;
              for (std::int64_t c = first; c < std::min(d32, first + 256); ++c) {
                const std::int32_t x = xi[static_cast<std::size_t>(r * d32 + c)];
                const int h = nibble(high.data() + j / 16 * d32 * 8 + j % 16 * 4, c, 64);
                coarse_sum += h * x;
                middle_sum += (16 * h + nibble(low.data() + j * d32 / 2, c)) * x;
              }
              coarse_dot =
                  first == 0 ? static_cast<float>(coarse_sum) : coarse_dot + static_cast<float>(coarse_sum);
              middle_dot =
                  first == 0 ? static_cast<float>(middle_sum) : middle_dot + static_cast<float>(middle_sum);
            }
            const auto at = static_cast<std::size_t>(r * keys + j);
            ASSERT_EQ(coarse[at], coarse_dot) << d32 << ' ' << r << ' ' << j;
            ASSERT_EQ(middle[at], middle_dot) << d32 << ' ' << r << ' ' << j;
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
                                         static_cast<std::int16_t>(sign * largest_folded));
      std::vector<float> dot(keys);
      kernels().sieve.middle_dots(plane.data(), plane.data(), d32, xi.data(), 1, dot.data(), plane.data(),
                                  plane.data());
      for (const float x : dot) EXPECT_EQ(x, static_cast<float>(sign) * 255.0F * 32639.0F * 1024.0F);
    }
  });
}

TEST(SieveKernels, BoundsArePowersOfTwoAndTheirSums) {
  for_each_target([](const char* target) {
    SCOPED_TRACE(target);
    Random random(8);
    for (const int rows : {1, 2, 4, 16}) {
      const auto e = bytes(random, keys);
      std::vector<ScanRow> row;
      for (int r = 0; r < rows; ++r) row.push_back({0.01F * static_cast<float>(r), 0x1p-20F, -3.0F});
      std::vector<float> dot;
      for (int i = 0; i < rows * keys; ++i)
        dot.push_back(static_cast<float>(below(random, 1 << 24) - (1 << 23)));
      std::vector<float> weight = dot, sums(static_cast<std::size_t>(rows)), most(sums.size());
      kernels().sieve.bounds(e.data(), rows, row.data(), weight.data(), sums.data(), most.data());
      for (int r = 0; r < rows; ++r) {
        double sum = 0;
        for (int j = 0; j < keys; ++j) {
          const ScanRow& s = row[static_cast<std::size_t>(r)];
          const auto at = static_cast<std::size_t>(r * keys + j);
          const double up = static_cast<double>(s.slope) * e[static_cast<std::size_t>(j)];
          const double product = static_cast<double>(s.step) * static_cast<double>(dot[at]);
          const double exact = std::exp2(up + product + s.shift);
          // What exp2 errs by with its own roundings, and five roundings of parts of the exponent.
          const double size = std::abs(up) + std::abs(product) + std::abs(s.shift);
          const double error = 2.8e-6 + 4 * 0x1p-24 + 0.7 * 5 * 0x1p-24 * size;
          ASSERT_NEAR(weight[at], exact, error * exact) << r << ' ' << j;
          sum += static_cast<double>(weight[at]);
        }
        ASSERT_NEAR(sums[static_cast<std::size_t>(r)], sum, 128 * 0x1p-24 * sum);
        EXPECT_EQ(most[static_cast<std::size_t>(r)],
                  *std::max_element(weight.begin() + r * keys, weight.begin() + (r + 1) * keys));
        // Bit for bit: searches for thresholds take one for the other.
        const std::array<float, 4> limits{most[static_cast<std::size_t>(r)], 1e30F, 1e30F, 1e30F};
        std::array<float, 4> below{};
        kernels().sieve.sums_below(weight.data() + r * keys, keys, limits.data(), below.data());
        for (const float x : below) EXPECT_EQ(x, sums[static_cast<std::size_t>(r)]);
      }
      // Without residual codes, as with zeros.
      std::vector<float> plain = dot, zero = dot;
      for (ScanRow& r : row) r.slope = 1.0F;
      const std::vector<std::uint8_t> none(keys, 0);
      kernels().sieve.bounds(nullptr, rows, row.data(), plain.data(), sums.data(), most.data());
      kernels().sieve.bounds(none.data(), rows, row.data(), zero.data(), sums.data(), most.data());
      EXPECT_EQ(plain, zero);
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
      kernels().sieve.mark_above(w.data(), n, 0.25F, mask.data());
      for (int i = 0; i < 2048; ++i)
        ASSERT_EQ((mask[static_cast<std::size_t>(i / 32)] >> (i % 32) & 1U) != 0,
                  i < n && w[static_cast<std::size_t>(i)] > 0.25F)
            << n << ' ' << i;
    }
  });
}

TEST(SieveKernels, PickTakesTheScalesOfValuesAlong) {
  for_each_target([](const char* target) {
    SCOPED_TRACE(target);
    Random random(12);
    for (const int rows : {1, 3, 4, 7}) {
      const std::int64_t stride = 500;
      std::vector<float> w;
      for (int r = 0; r < rows; ++r) {
        const auto row = weights(random, keys);
        w.insert(w.end(), row.begin(), row.end());
      }
      const std::vector<float> t(static_cast<std::size_t>(rows), 0.9F);
      std::vector<std::uint16_t> low, step;
      for (int j = 0; j < keys; ++j) {
        low.push_back(to_bf16(static_cast<float>(below(random, 1000) - 500)).bits);
        step.push_back(to_bf16(static_cast<float>(below(random, 1000))).bits);
      }
      const auto norm = bytes(random, keys);
      std::vector<std::uint8_t> key(picked_stride);
      std::vector<float> picked(static_cast<std::size_t>(rows * stride)), rest(t.size());
      std::vector<float> picked_low(picked_stride), picked_step(picked_stride), picked_norm(picked_stride);
      const ValueScales scales{low.data(),        step.data(),        norm.data(),       0.25F,
                               picked_low.data(), picked_step.data(), picked_norm.data()};
      const int count =
          kernels().sieve.pick(w.data(), rows, t.data(), nullptr, nullptr,
                               {key.data(), nullptr, nullptr, picked.data(), stride, &scales}, rest.data());
      ASSERT_GT(count, 0);
      for (std::size_t i = 0; i < static_cast<std::size_t>(count); ++i) {
        const std::size_t j = key[i];
        EXPECT_EQ(picked_low[i], to_float(bf16{low[j]}));
        EXPECT_EQ(picked_step[i], to_float(bf16{step[j]}));
        EXPECT_EQ(picked_norm[i], 0.25F * static_cast<float>(norm[j]));
        for (int r = 0; r < rows; ++r)
          EXPECT_EQ(picked[static_cast<std::size_t>(r * stride) + i],
                    w[static_cast<std::size_t>(r * keys) + j]);
      }
    }
  });
}

TEST(SieveKernels, CodesAreCombinedWithTheirWeights) {
  for_each_target([](const char* target) {
    SCOPED_TRACE(target);
    Random random(9);
    for (const std::int64_t d32 : {32, 64, 96, 128})
      for (const int rows : {1, 2, 3, 4, 7})
        for (const int count : {1, 5, 128}) {
          const std::int64_t stride = d32 / 2, p_stride = 300, o_stride = d32 + 16;
          const auto codes = bytes(random, keys * stride);
          const auto key = list(random, count);
          std::vector<float> p(static_cast<std::size_t>(rows * p_stride));
          for (auto& x : p) x = static_cast<float>(below(random, 1000)) * 0x1p-10F;
          std::vector<float> o(static_cast<std::size_t>(rows * o_stride), 1.0F);
          kernels().sieve.combine_codes(p.data(), p_stride, rows, {codes.data(), key.data(), count}, stride,
                                        d32, o.data(), o_stride);
          for (int r = 0; r < rows; ++r)
            for (std::int64_t c = 0; c < d32; ++c) {
              double sum = 1;
              for (int i = 0; i < count; ++i) {
                const std::uint8_t byte = codes[static_cast<std::size_t>(
                    key[static_cast<std::size_t>(i)] * stride + c / 32 * 16 + c % 16)];
                sum += static_cast<double>(p[static_cast<std::size_t>(r * p_stride + i)]) *
                       (c % 32 < 16 ? byte & 15 : byte >> 4);
              }
              ASSERT_NEAR(o[static_cast<std::size_t>(r * o_stride + c)], sum, 130 * 0x1p-24 * sum)
                  << d32 << ' ' << r << ' ' << c;
            }
        }
  });
}

TEST(SieveKernels, DistancesFromCentroids) {
  for_each_target([](const char* target) {
    SCOPED_TRACE(target);
    Random random(10);
    for (const std::int64_t d32 : {32, 96, 128})
      for (const int rows : {1, 2, 3, 4, 9}) {
        std::vector<std::uint16_t> x;
        for (std::int64_t c = 0; c < d32; ++c)
          x.push_back(to_bf16(static_cast<float>(below(random, 2000) - 1000) * 0x1p-8F).bits);
        std::vector<float> o, squares(static_cast<std::size_t>(rows));
        for (std::int64_t i = 0; i < rows * d32; ++i)
          o.push_back(static_cast<float>(below(random, 2000) - 1000) * 0x1p-8F);
        kernels().sieve.distances(x.data(), d32, o.data(), rows, squares.data());
        for (int r = 0; r < rows; ++r) {
          double sum = 0;
          for (std::int64_t c = 0; c < d32; ++c)
            sum += std::pow(static_cast<double>(to_float(bf16{x[static_cast<std::size_t>(c)]})) -
                                static_cast<double>(o[static_cast<std::size_t>(r * d32 + c)]),
                            2);
          EXPECT_NEAR(squares[static_cast<std::size_t>(r)], sum,
                      (static_cast<double>(d32) + 3) * 0x1p-24 * sum);
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
