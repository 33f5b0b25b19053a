// The kernels of the descent against plain loops, on every target.
#include <gtest/gtest.h>

#include <cmath>

#include "lab/numbers/random.h"
#include "support/targets.h"

namespace tamis::test {
namespace {

std::vector<float> normals(std::size_t n, std::uint64_t row) {
  const lab::numbers::Stream stream(11, lab::numbers::Purpose::test, row);
  std::vector<float> x(n);
  for (std::size_t i = 0; i < n; ++i)
    x[i] = static_cast<float>(stream.normal(static_cast<std::uint32_t>(i)));
  return x;
}

double dot(const float* x, const float* y, std::int64_t n) {
  double sum = 0;
  for (std::int64_t c = 0; c < n; ++c) sum += static_cast<double>(x[c]) * static_cast<double>(y[c]);
  return sum;
}

/// Rounding bound for a sum of n products of f32, in any order, fused or not: (n + 1)·2^-24 of the
/// sum of absolute values.
double bound(const float* x, const float* y, std::int64_t n) {
  double sum = 0;
  for (std::int64_t c = 0; c < n; ++c)
    sum += std::abs(static_cast<double>(x[c]) * static_cast<double>(y[c]));
  return static_cast<double>(n + 1) * 0x1p-24 * sum;
}

TEST(DescentKernels, PickListsTheKeysAboveEachLanesThresholdInOrder) {
  for_each_target([](const char* name) {
    SCOPED_TRACE(name);
    const kernels::Kernels& kernel = kernels::kernels();
    const int tile = kernel.tile;
    for (const int keys : {1, 7, static_cast<int>(page_tokens)}) {
      const std::vector<float> s = normals(static_cast<std::size_t>(keys * tile), 1);
      std::vector<float> above = normals(static_cast<std::size_t>(tile), 2);
      above[0] = s[0];  // equal is not above
      std::vector<std::int32_t> key(static_cast<std::size_t>(tile * page_tokens));
      std::vector<float> value(key.size());
      std::vector<std::int32_t> count(static_cast<std::size_t>(tile));
      lab::kernels::lab_kernels().descent.pick(s.data(), keys, above.data(), 1000, key.data(),
                                               value.data(), count.data());
      for (int i = 0; i < tile; ++i) {
        int found = 0;
        for (int j = 0; j < keys; ++j) {
          if (!(s[j * tile + i] > above[i])) continue;
          ASSERT_LT(found, count[i]);
          EXPECT_EQ(key[i * page_tokens + found], 1000 + j);
          EXPECT_EQ(value[i * page_tokens + found], s[j * tile + i]);
          ++found;
        }
        EXPECT_EQ(count[i], found);
      }
    }
  });
}

TEST(DescentKernels, DotsAndPushAgreeWithPlainLoopsInEveryWidth) {
  for_each_target([](const char* name) {
    SCOPED_TRACE(name);
    const kernels::Kernels& kernel = kernels::kernels();
    const std::int64_t width = kernel.pad / 2;
    for (std::int64_t vectors = 1; vectors <= 6; ++vectors) {
      const std::int64_t stride = vectors * width;
      const int keys = 37;
      const std::vector<float> q = normals(static_cast<std::size_t>(stride), 3);
      const std::vector<float> k = normals(static_cast<std::size_t>(keys * stride), 4);
      std::vector<std::int32_t> listed;
      for (int j = 0; j < keys; j += 1 + j % 3) listed.push_back(j);
      std::vector<float> s(listed.size());
      lab::kernels::lab_kernels().descent.dots(q.data(), k.data(), stride, listed.data(),
                                               static_cast<int>(listed.size()), s.data());
      for (std::size_t c = 0; c < listed.size(); ++c)
        EXPECT_NEAR(s[c], dot(q.data(), &k[listed[c] * stride], stride),
                    bound(q.data(), &k[listed[c] * stride], stride));

      const float above = 0.1F;
      const float weight = 3;
      std::vector<float> grad_q(static_cast<std::size_t>(stride), 1.0F);
      std::vector<float> grad_k(k.size(), 2.0F);
      std::vector<double> wanted_q(grad_q.size(), 1.0);
      std::vector<double> wanted_k(grad_k.size(), 2.0);
      double wanted = 0;
      double slack = 0;  // sum of the changes that rounding of logits can make to an excess
      for (const std::int32_t j : listed) {
        const double e = dot(q.data(), &k[j * stride], stride) - static_cast<double>(above);
        slack += 3 * bound(q.data(), &k[j * stride], stride) + 0x1p-20;
        if (e <= 0) continue;
        wanted += 3 * e;
        for (std::int64_t c = 0; c < stride; ++c) {
          wanted_q[c] += 3 * e * static_cast<double>(k[j * stride + c]);
          wanted_k[j * stride + c] += 3 * e * static_cast<double>(q[c]);
        }
      }
      const float total = lab::kernels::lab_kernels().descent.push(
          q.data(), k.data(), stride, listed.data(), static_cast<int>(listed.size()), above, weight,
          grad_q.data(), grad_k.data());
      // Entries are below 5 in size, and sums of at most 37 terms have a relative rounding error
      // of at most 40·2^-24.
      const double room = 5 * (slack + 40 * 0x1p-24 * wanted) + 1e-5;
      EXPECT_NEAR(total, wanted, room);
      for (std::size_t c = 0; c < grad_q.size(); ++c) EXPECT_NEAR(grad_q[c], wanted_q[c], room);
      for (std::size_t c = 0; c < grad_k.size(); ++c) EXPECT_NEAR(grad_k[c], wanted_k[c], room);
    }
  });
}

TEST(DescentKernels, AdamAgreesWithItsFormula) {
  for_each_target([](const char* name) {
    SCOPED_TRACE(name);
    const kernels::Kernels& kernel = kernels::kernels();
    const auto n = static_cast<std::size_t>(3 * kernel.pad / 2);
    std::vector<float> x = normals(n, 5);
    const std::vector<float> grad = normals(n, 6);
    std::vector<float> mean = normals(n, 7);
    std::vector<float> square = normals(n, 8);
    for (float& s : square) s *= s;
    const std::vector<float> x0 = x;
    const std::vector<float> mean0 = mean;
    const std::vector<float> square0 = square;
    lab::kernels::lab_kernels().descent.adam(x.data(), grad.data(), mean.data(), square.data(),
                                             static_cast<std::int64_t>(n), 0.05F, 1.5F);
    for (std::size_t i = 0; i < n; ++i) {
      const double g = static_cast<double>(grad[i]);
      const double m = 0.9 * static_cast<double>(mean0[i]) + 0.1 * g;
      const double s = 0.99 * static_cast<double>(square0[i]) + 0.01 * g * g;
      EXPECT_NEAR(mean[i], m,
                  4 * 0x1p-24 * (std::abs(g) + std::abs(static_cast<double>(mean0[i]))));
      EXPECT_NEAR(square[i], s, 8 * 0x1p-24 * s);
      // The step has ten roundings and the sum one; the mean may cancel.
      const double step = 0.05 * m / (std::sqrt(1.5 * s) + 1e-6);
      const double lost = 0.05 * 4 * 0x1p-24 * 5 / (std::sqrt(1.5 * s) + 1e-6);
      EXPECT_NEAR(x[i], static_cast<double>(x0[i]) - step,
                  16 * 0x1p-24 * (4 + std::abs(step)) + lost);
    }
  });
}

}  // namespace
}  // namespace tamis::test
