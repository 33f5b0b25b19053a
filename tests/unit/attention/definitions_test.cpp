// USAM, SAM, SA and the causal forms, on matrices small enough to write out.
#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <vector>

#include <tamis/attention.h>
#include <tamis/error.h>

namespace tamis {
namespace {

struct Matrix {
  Matrix(std::int64_t rows, std::int64_t cols, std::vector<double> values = {})
      : data(std::move(values)), view() {
    data.resize(static_cast<std::size_t>(rows * cols));
    view = {data.data(), rows, cols};
  }
  std::vector<double> data;
  View<double> view;
};

TEST(Definitions, OfTwoTokensInOneDimension) {
  Matrix x(2, 1, {1, 2});
  Matrix w_q(1, 1, {3});
  Matrix w_k(1, 1, {0.5});
  Matrix w_v(1, 1, {10});
  // Logits 1.5·x_i·x_j: [[1.5, 3], [3, 6]].
  Matrix out(2, 2);
  usam(x.view, w_q.view, w_k.view, out.view);
  EXPECT_DOUBLE_EQ(out.view(0, 0), std::exp(1.5));
  EXPECT_DOUBLE_EQ(out.view(1, 1), std::exp(6.0));
  cusam(x.view, w_q.view, w_k.view, out.view);
  EXPECT_EQ(out.view(0, 1), 0.0);
  EXPECT_DOUBLE_EQ(out.view(1, 0), std::exp(3.0));
  sam(x.view, w_q.view, w_k.view, out.view);
  EXPECT_NEAR(out.view(0, 1), 1 / (1 + std::exp(-1.5)), 1e-15);
  EXPECT_NEAR(out.view(1, 0), 1 / (1 + std::exp(3.0)), 1e-15);
  csam(x.view, w_q.view, w_k.view, out.view);
  EXPECT_EQ(out.view(0, 0), 1.0);
  EXPECT_EQ(out.view(0, 1), 0.0);
  Matrix attended(2, 1);
  sa(x.view, w_q.view, w_k.view, w_v.view, attended.view);
  const double p = 1 / (1 + std::exp(-1.5));
  EXPECT_NEAR(attended.view(0, 0), 10 * (1 - p) + 20 * p, 1e-13);
  csa(x.view, w_q.view, w_k.view, w_v.view, attended.view);
  EXPECT_EQ(attended.view(0, 0), 10.0);
}

TEST(Definitions, NormalisedFormsAreRowNormalisedUnnormalisedOnes) {
  std::mt19937_64 random(5);
  std::normal_distribution<double> normal(0, 0.7);
  constexpr std::int64_t n = 12;
  constexpr std::int64_t hidden = 7;
  constexpr std::int64_t d = 3;
  const auto draw = [&](std::int64_t rows, std::int64_t cols) {
    Matrix m(rows, cols);
    for (double& value : m.data) value = normal(random);
    return m;
  };
  const Matrix x = draw(n, hidden);
  const Matrix w_q = draw(hidden, d);
  const Matrix w_k = draw(hidden, d);
  const Matrix w_v = draw(hidden, d);
  for (const bool causal : {false, true}) {
    Matrix raw(n, n);
    Matrix rows(n, n);
    Matrix out(n, d);
    (causal ? cusam : usam)(x.view, w_q.view, w_k.view, raw.view);
    (causal ? csam : sam)(x.view, w_q.view, w_k.view, rows.view);
    (causal ? csa : sa)(x.view, w_q.view, w_k.view, w_v.view, out.view);
    for (std::int64_t i = 0; i < n; ++i) {
      double total = 0;
      for (std::int64_t j = 0; j < n; ++j) {
        EXPECT_EQ(raw.view(i, j) == 0.0, causal && j > i);
        total += raw.view(i, j);
      }
      for (std::int64_t j = 0; j < n; ++j)
        EXPECT_NEAR(rows.view(i, j), raw.view(i, j) / total, 1e-14);
      for (std::int64_t c = 0; c < d; ++c) {
        double expected = 0;
        for (std::int64_t j = 0; j < n; ++j)
          for (std::int64_t t = 0; t < hidden; ++t)
            expected += rows.view(i, j) * x.view(j, t) * w_v.view(t, c);
        EXPECT_NEAR(out.view(i, c), expected, 1e-13);
      }
    }
  }
}

TEST(Definitions, NormalisedFormsSurviveLogitsThatOverflowTheExponential) {
  Matrix x(2, 1, {100, 101});
  Matrix one(1, 1, {1});
  Matrix out(2, 2);
  usam(x.view, one.view, one.view, out.view);
  EXPECT_TRUE(std::isinf(out.view(0, 0)));
  sam(x.view, one.view, one.view, out.view);
  EXPECT_NEAR(out.view(0, 1), 1.0, 1e-15);
}

TEST(Definitions, ShapesThatDoNotFitAreNamed) {
  Matrix x(3, 2);
  Matrix w(2, 2);
  Matrix wrong(3, 2);
  Matrix out(3, 3);
  EXPECT_THROW(usam(x.view, wrong.view, w.view, out.view), Error);
  EXPECT_THROW(sam(x.view, w.view, wrong.view, out.view), Error);
  EXPECT_THROW(sam(x.view, w.view, w.view, w.view), Error);
  EXPECT_THROW(csa(x.view, w.view, w.view, wrong.view, out.view), Error);
}

}  // namespace
}  // namespace tamis
