// Cholesky factors and solutions, checked against the original matrix.
#include "lab/stats/cholesky.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "lab/numbers/random.h"

namespace tamis {
namespace {

TEST(Cholesky, SolvesManyAsItSolvesOne) {
  constexpr std::int64_t n = 37;
  constexpr std::int64_t stride = 40;
  constexpr std::int64_t count = 19;
  const lab::numbers::Stream stream(1, lab::numbers::Purpose::test, 5);
  std::vector<double> w(n * n);
  for (std::int64_t r = 0; r < n; ++r)
    for (std::int64_t c = 0; c <= r; ++c)
      w[static_cast<std::size_t>(r * n + c)] =
          r == c ? 20 : stream.normal(static_cast<std::uint32_t>(2 * (r * n + c)));
  lab::stats::Cholesky<double> factor;
  ASSERT_TRUE(factor.factor(w.data(), n, n));
  std::vector<double> right(count * stride);
  for (std::size_t i = 0; i < right.size(); ++i)
    right[i] =
        stream.normal(static_cast<std::uint32_t>(2 * (n * n + static_cast<std::int64_t>(i))));
  std::vector<double> many = right;
  factor.solve(many.data(), count, stride);
  for (std::int64_t i = 0; i < count; ++i) {
    std::vector<double> one(right.begin() + i * stride, right.begin() + i * stride + n);
    factor.solve(one.data());
    for (std::int64_t r = 0; r < n; ++r) {
      ASSERT_EQ(many[static_cast<std::size_t>(i * stride + r)], one[static_cast<std::size_t>(r)]);
      double product = 0;  // W times the solution gives the right-hand side
      for (std::int64_t c = 0; c < n; ++c)
        product += w[static_cast<std::size_t>(std::max(r, c) * n + std::min(r, c))] *
                   one[static_cast<std::size_t>(c)];
      // The diagonal is 20 and other entries are normal, so eigenvalues are near 20 ± 2√37
      // and the condition number is near 4. n²·2⁻⁵³ times that and a right-hand side below
      // 6 gives 4·10⁻¹².
      EXPECT_NEAR(product, right[static_cast<std::size_t>(i * stride + r)], 1e-11);
    }
    for (std::int64_t r = n; r < stride; ++r)
      EXPECT_EQ(many[static_cast<std::size_t>(i * stride + r)],
                right[static_cast<std::size_t>(i * stride + r)]);
  }
}

}  // namespace
}  // namespace tamis
