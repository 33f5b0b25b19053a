// Witnesses whose queries and keys share x: they are found for patterns made from one, and always
// have the claimed form.
#include "lab/decide/shared.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <numeric>

#include <tamis/error.h>
#include "lab/decide/line/line.h"
#include "lab/decide/shared_form.h"
#include "support/lab/lines.h"
#include "support/lab/orderings.h"

namespace tamis::test {
namespace {

struct Size {
  std::int64_t dim, hidden;
};
constexpr Size sizes[] = {{2, 2}, {2, 3}, {3, 3}, {3, 4}, {3, 5}};

/// The largest logits of each row of x·w_q·w_kᵀ·xᵀ for random numbers. The number of logits per
/// row is random, and never all.
lab::Pattern planted_pattern(Dice& dice, std::int64_t n, Size size) {
  const auto gaussian = [&](std::int64_t rows, std::int64_t cols) {
    Matrix matrix{rows, cols, {}};
    for (std::int64_t c = 0; c < rows * cols; ++c) matrix.values.push_back(dice.normal());
    return matrix;
  };
  const auto product = [](const Matrix& a, const Matrix& b) {
    Matrix c{a.rows, b.cols, {}};
    for (std::int64_t i = 0; i < a.rows; ++i)
      for (std::int64_t j = 0; j < b.cols; ++j) {
        double sum = 0;
        for (std::int64_t h = 0; h < a.cols; ++h) sum += a(i, h) * b(h, j);
        c.values.push_back(sum);
      }
    return c;
  };
  const Matrix x = gaussian(n, size.hidden);
  const Matrix q = product(x, gaussian(size.hidden, size.dim));
  const Matrix k = product(x, gaussian(size.hidden, size.dim));
  Matrix pattern{n, n, std::vector<double>(static_cast<std::size_t>(n * n))};
  for (std::int64_t i = 0; i < n; ++i) {
    const auto logit = [&](std::int64_t j) {
      double sum = 0;
      for (std::int64_t c = 0; c < size.dim; ++c) sum += q(i, c) * k(j, c);
      return sum;
    };
    std::vector<std::int64_t> order(static_cast<std::size_t>(n));
    std::iota(order.begin(), order.end(), 0);
    std::ranges::sort(order, std::greater(), logit);
    const std::int64_t nonzeros = 1 + dice.below(n - 1);
    for (std::int64_t t = 0; t < nonzeros; ++t)
      pattern.values[static_cast<std::size_t>(i * n + order[t])] = 1;
  }
  return pattern_of(pattern);
}

const ProgressCallback silent;

std::optional<lab::realisation::Sealed> found(const lab::Pattern& pattern,
                                              const lab::decision::SharedOptions& options) {
  lab::decision::Clock clock(1e9, silent);
  lab::decision::Clock::Part part(clock, 1e9);
  return lab::decision::shared_witness(pattern, options, part);
}

void expect_sealed(const lab::Pattern& pattern, const lab::realisation::Sealed& sealed, Size size) {
  using Shape = std::vector<std::int64_t>;
  const lab::Witness& witness = sealed.witness();
  EXPECT_FALSE(witness.has_queries());
  EXPECT_EQ(witness.x.info().shape, (Shape{pattern.rows, size.hidden}));
  EXPECT_EQ(witness.w_q.info().shape, (Shape{size.hidden, size.dim}));
  EXPECT_EQ(witness.w_k.info().shape, (Shape{size.hidden, size.dim}));
  EXPECT_TRUE(witness.made_for.weak);
  EXPECT_EQ(witness.made_by.at("method"), "shared descent");
  EXPECT_TRUE(sealed.verification().holds());
  EXPECT_TRUE(lab::verify(pattern, witness, witness.made_for, 1).holds());
}

std::vector<std::byte> bytes_of(const lab::Witness& witness) {
  std::vector<std::byte> bytes;
  for (const lab::Tensor* tensor : {&witness.x, &witness.w_q, &witness.w_k})
    bytes.insert(bytes.end(), tensor->bytes().begin(), tensor->bytes().end());
  return bytes;
}

TEST(Shared, PlantedPatternsAreFoundAndHoldExactly) {
  for (const Size size : sizes)
    for (const std::int64_t n : {4, 5, 8, 13, 24}) {
      Dice dice(static_cast<std::uint64_t>(n));
      const lab::Pattern pattern = planted_pattern(dice, n, size);
      const auto sealed = found(pattern, {.dim = size.dim, .hidden = size.hidden, .seed = 1});
      ASSERT_TRUE(sealed) << "n = " << n << ", dim " << size.dim << ", hidden " << size.hidden;
      expect_sealed(pattern, *sealed, size);
    }
}

/// The smallest matrix that renaming rows and columns in the same way makes of this one.
std::uint32_t least_of_kind(std::uint32_t matrix, int n) {
  std::vector<int> name(static_cast<std::size_t>(n));
  std::iota(name.begin(), name.end(), 0);
  std::uint32_t least = matrix;
  do {
    std::uint32_t renamed = 0;
    for (int i = 0; i < n; ++i)
      for (int j = 0; j < n; ++j)
        renamed |= ((matrix >> (i * n + j)) & 1U) << (name[i] * n + name[j]);
    least = std::min(least, renamed);
  } while (std::ranges::next_permutation(name).found);
  return least;
}

// Burnside's count gives 70 kinds of three rows and 2,340 of four.
TEST(Shared, EveryPatternOfThreeOrFourRowsHasOneOfTwoColumnsWithHiddenSizeTwo) {
  for (const auto& [n, kinds] : {std::pair(3, 70), std::pair(4, 2340)}) {
    int seen = 0;
    for (std::uint32_t matrix = 0; matrix < 1U << (n * n); ++matrix) {
      const RowSets rows = rows_of(matrix, n);
      if (std::ranges::count(rows, 0U) > 0 || least_of_kind(matrix, n) != matrix) continue;
      const lab::Pattern pattern = pattern_of(rows);
      const auto sealed = found(pattern, {.dim = 2, .hidden = 2});
      ASSERT_TRUE(sealed) << "matrix " << matrix;
      expect_sealed(pattern, *sealed, {2, 2});
      ++seen;
    }
    EXPECT_EQ(seen, kinds);
  }
}

TEST(Shared, InDimensionOneItFindsWhatIsDecidedToExistAndNothingElse) {
  for (std::uint32_t matrix = 0; matrix < 512; ++matrix) {
    const RowSets rows = rows_of(matrix, 3);
    if (std::ranges::count(rows, 0U) > 0) continue;
    const lab::Pattern pattern = pattern_of(rows);
    EXPECT_EQ(found(pattern, {.dim = 1, .hidden = 1, .starts = 32}).has_value(),
              std::holds_alternative<lab::Witness>(lab::decision::decide_line(pattern, 1)))
        << "matrix " << matrix;
  }
}

RC_GTEST_PROP(Shared, SameSeedSameBitsForAnyNumberOfThreads, ()) {
  const auto seed = *rc::gen::resize(rc::kNominalSize, rc::gen::arbitrary<std::uint64_t>());
  const auto n = *rc::gen::inRange<std::int64_t>(2, 9);
  Dice dice(seed);
  const lab::Pattern pattern = planted_pattern(dice, n, {2, 3});
  lab::decision::SharedOptions options{
      .dim = 2, .hidden = *rc::gen::inRange<std::int64_t>(2, 4), .seed = seed, .starts = 8};
  const auto alone = found(pattern, options);
  options.threads = 3;
  const auto together = found(pattern, options);
  RC_ASSERT(alone.has_value() == together.has_value());
  if (!alone) return;
  RC_ASSERT(bytes_of(alone->witness()) == bytes_of(together->witness()));
  RC_ASSERT(alone->witness().made_by == together->witness().made_by);
}

TEST(Shared, RowsOfOnesAskForNothing) {
  Matrix matrix{5, 5, std::vector<double>(25, 1.0)};
  expect_sealed(pattern_of(matrix), found(pattern_of(matrix), {.dim = 2, .hidden = 3}).value(),
                {2, 3});
  matrix.values[7] = 0;
  expect_sealed(pattern_of(matrix), found(pattern_of(matrix), {.dim = 2, .hidden = 3}).value(),
                {2, 3});
}

TEST(Shared, TheSlopeIsThatOfTheHinge) {
  Dice dice(3);
  const Size size{3, 4};
  const std::int64_t n = 5;
  const lab::Pattern pattern = planted_pattern(dice, n, size);
  lab::decision::SharedHinge hinge(pattern);
  lab::decision::SharedForm form(n, size.dim, size.hidden);
  for (double& x : form.numbers) x = dice.normal();
  const auto value = [&](const lab::decision::SharedForm& at) {
    const Matrix x{n, size.hidden, at.witness(DType::f64).x.to_f64()};
    const Matrix w_q{size.hidden, size.dim, at.witness(DType::f64).w_q.to_f64()};
    const Matrix w_k{size.hidden, size.dim, at.witness(DType::f64).w_k.to_f64()};
    double sum = 0;
    for (std::int64_t i = 0; i < n; ++i)
      for (std::int64_t j = 0; j < n; ++j) {
        double logit = -at.numbers[static_cast<std::size_t>(at.thresholds() + i)];
        for (std::int64_t c = 0; c < size.dim; ++c) {
          double q = 0;
          double k = 0;
          for (std::int64_t h = 0; h < size.hidden; ++h) {
            q += x(i, h) * w_q(h, c);
            k += x(j, h) * w_k(h, c);
          }
          logit += q * k;
        }
        const double sign = std::ranges::binary_search(pattern.columns_of(i), j) ? 1 : -1;
        sum += 0.5 * std::pow(std::max(0.0, 1 - sign * logit), 2);
      }
    return sum;
  };
  std::vector<double> slope;
  hinge.slope(form, slope);
  ASSERT_EQ(slope.size(), form.numbers.size());
  constexpr double h = 0x1p-20;
  for (std::size_t c = 0; c < slope.size(); ++c) {
    lab::decision::SharedForm up = form;
    lab::decision::SharedForm down = form;
    up.numbers[c] += h;
    down.numbers[c] -= h;
    // Central differences have an error of order h², except at a kink within h of the point, and a
    // rounding error of 2⁻⁵³/h times the value.
    EXPECT_NEAR((value(up) - value(down)) / (2 * h), slope[c], 1e-6 * (1 + value(form))) << c;
  }
}

TEST(Shared, AnEndedClockOrACallbackThatSaysSoEndsTheSearch) {
  const lab::Pattern identity = pattern_of({0b001, 0b010, 0b100});  // no witness in dimension 1
  const lab::decision::SharedOptions endless{
      .dim = 1, .hidden = 1, .starts = std::int64_t{1} << 40};
  {
    lab::decision::Clock clock(0, silent);
    lab::decision::Clock::Part part(clock, 1);
    EXPECT_FALSE(lab::decision::shared_witness(identity, endless, part));
    EXPECT_FALSE(clock.interrupted());
  }
  int calls = 0;
  const ProgressCallback third_time = [&](double, double) { return ++calls < 3; };
  lab::decision::Clock clock(1e9, third_time);
  lab::decision::Clock::Part part(clock, 1e9);
  EXPECT_FALSE(lab::decision::shared_witness(identity, endless, part));
  EXPECT_TRUE(clock.interrupted());
}

TEST(Shared, SizesOutsideTheFormAreRefused) {
  const lab::Pattern square = pattern_of(RowSets{0b01, 0b10});
  const lab::Pattern wide = pattern_of(Matrix{1, 2, {1, 0}});
  const auto code = [](const lab::Pattern& pattern, Size size) -> std::optional<Code> {
    try {
      found(pattern, {.dim = size.dim, .hidden = size.hidden});
    } catch (const Error& error) {
      return error.code();
    }
    return std::nullopt;
  };
  EXPECT_EQ(code(square, {2, 4}), Code::usage);
  EXPECT_EQ(code(square, {2, 1}), Code::usage);
  EXPECT_EQ(code(square, {0, 0}), Code::usage);
  EXPECT_EQ(code(wide, {1, 1}), Code::input);
}

}  // namespace
}  // namespace tamis::test
