// Single kernels against plain loops, on every target, including edge cases that callers rely on.
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <thread>
#include <vector>

#include <tamis/dtype.h>
#include <tamis/error.h>
#include <tamis/info.h>

#include "kernels/kernels.h"
#include "support/targets.h"

namespace tamis::test {
namespace {

TEST(Kernels, Exp2IsWithinItsBoundAndExactAtIntegers) {
  for_each_target([](const char* target) {
    SCOPED_TRACE(target);
    std::vector<float> x;
    for (std::uint32_t bits = 0; bits <= std::bit_cast<std::uint32_t>(126.0F); bits += 9973)
      x.push_back(-std::bit_cast<float>(bits));
    for (int i = 0; i <= 126; ++i)
      for (const float step : {0.0F, -0.5F, 0.5F})
        x.push_back(std::fmin(0.0F, std::fmax(-126.0F, -static_cast<float>(i) + step)));
    std::vector<float> y = x;
    kernels::kernels().exp2(y.data(), static_cast<std::int64_t>(y.size()));
    for (std::size_t i = 0; i < x.size(); ++i) {
      const double exact = std::exp2(static_cast<double>(x[i]));
      ASSERT_LE(std::abs(y[i] - exact), kernels::exp2_relative_error * exact) << x[i];
      if (x[i] == std::floor(x[i])) {
        ASSERT_EQ(y[i], exact) << x[i];
      }
    }
  });
}

TEST(Kernels, Exp2VanishesBelowItsRangeAndKeepsNan) {
  for_each_target([](const char* target) {
    SCOPED_TRACE(target);
    const float inf = std::numeric_limits<float>::infinity();
    for (const float x : {-126.00001F, -127.0F, -1e30F, -inf}) {
      float y = x;
      kernels::kernels().exp2(&y, 1);
      EXPECT_EQ(y, 0.0F) << x;
    }
    float nan = std::numeric_limits<float>::quiet_NaN();
    kernels::kernels().exp2(&nan, 1);
    EXPECT_TRUE(std::isnan(nan));
  });
}

TEST(Kernels, WeighSumsToNanIfALogitIsNotFinite) {
  for_each_target([](const char* target) {
    SCOPED_TRACE(target);
    for (const int n : {1, 5, 8, 16, 77, 128})
      for (const int place : {0, n / 2, n - 1})
        for (const float bad :
             {std::numeric_limits<float>::infinity(), -std::numeric_limits<float>::infinity(),
              std::numeric_limits<float>::quiet_NaN()}) {
          std::vector<float> s(page_tokens, 0.5F);
          EXPECT_TRUE(std::isfinite(kernels::kernels().weigh(s.data(), n, 1.0F)));
          s.assign(page_tokens, 0.5F);
          s[static_cast<std::size_t>(place)] = bad;
          EXPECT_TRUE(std::isnan(kernels::kernels().weigh(s.data(), n, 1.0F)))
              << bad << " at " << place << " of " << n;
        }
  });
}

TEST(Kernels, WideningIsExactForEveryBitPattern) {
  std::vector<std::uint16_t> halves(1 << 16);
  for (std::size_t i = 0; i < halves.size(); ++i) halves[i] = static_cast<std::uint16_t>(i);
  for_each_target([&](const char* target) {
    SCOPED_TRACE(target);
    for (const kernels::KvType type : {kernels::kv_f16, kernels::kv_bf16}) {
      std::vector<float> wide(halves.size());
      kernels::kernels().widen[type](halves.data(), wide.data(),
                                     static_cast<std::int64_t>(halves.size()) - 3);
      for (std::size_t i = 0; i + 3 < halves.size(); ++i) {
        const float exact =
            type == kernels::kv_f16 ? to_float(f16{halves[i]}) : to_float(bf16{halves[i]});
        if (std::isnan(exact)) {
          ASSERT_TRUE(std::isnan(wide[i])) << i;
        } else {
          ASSERT_EQ(std::bit_cast<std::uint32_t>(wide[i]), std::bit_cast<std::uint32_t>(exact))
              << i;
        }
      }
    }
  });
}

TEST(Kernels, MaximumIsTheLargest) {
  for_each_target([](const char* target) {
    SCOPED_TRACE(target);
    for (int n = 1; n <= page_tokens; ++n)
      for (int place = 0; place < n; place += 5) {
        std::vector<float> s(page_tokens, 9.0F);  // elements from n on must not be read
        for (int i = 0; i < n; ++i) s[static_cast<std::size_t>(i)] = -static_cast<float>(i) - 2.0F;
        s[static_cast<std::size_t>(place)] = -1.0F;
        ASSERT_EQ(kernels::kernels().maximum(s.data(), n), -1.0F) << n << " " << place;
      }
  });
}

TEST(Targets, OneRunsHereAndNamesAreUnique) {
  const auto all = targets();
  ASSERT_FALSE(all.empty());
  EXPECT_EQ(all.front().name, "scalar");
  EXPECT_TRUE(all.front().runs_here);
  for (std::size_t i = 0; i < all.size(); ++i)
    for (std::size_t j = 0; j < i; ++j) EXPECT_NE(all[i].name, all[j].name);
}

TEST(Kernels, ForcedOnesAreUsedByEveryThread) {
  for_each_target([](const char*) {
    const kernels::Kernels* const here = &kernels::kernels();
    const kernels::Kernels* there = nullptr;
    std::jthread([&] { there = &kernels::kernels(); }).join();
    EXPECT_EQ(there, here);
  });
}

}  // namespace
}  // namespace tamis::test
