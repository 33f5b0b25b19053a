// Random streams: the published vectors of Philox, fields that never collide, independence of the
// order of draws, and distributions within bounds that a correct generator exceeds with
// probability below 1e-9.
#include "lab/numbers/random.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <numeric>
#include <set>
#include <thread>
#include <vector>

#include <tamis/error.h>

namespace tamis {
namespace {

using Block = std::array<std::uint32_t, 4>;

TEST(Random, PhiloxGivesThePublishedVectors) {
  EXPECT_EQ(lab::numbers::philox({0, 0, 0, 0}, {0, 0}),
            (Block{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}));
  constexpr std::uint32_t ones = 0xffffffff;
  EXPECT_EQ(lab::numbers::philox({ones, ones, ones, ones}, {ones, ones}),
            (Block{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}));
  EXPECT_EQ(lab::numbers::philox({0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344},
                                 {0xa4093822, 0x299f31d0}),
            (Block{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}));
}

TEST(Random, AStreamReadsTheBlockThatItsFieldsName) {
  const std::uint64_t seed = 0x0123456789abcdef;
  const std::uint64_t row = 0xfedcba9876543210;
  const Block block =
      lab::numbers::philox({5, 1U << 16, 0x76543210, 0xfedcba98}, {0x89abcdef, 0x01234567});
  const lab::numbers::Stream stream(seed, lab::numbers::Purpose::bench, row);
  EXPECT_EQ(stream.bits(10), block[0] | static_cast<std::uint64_t>(block[1]) << 32);
  EXPECT_EQ(stream.bits(11), block[2] | static_cast<std::uint64_t>(block[3]) << 32);
}

TEST(Random, SeedPurposeRowAndDrawAllChangeTheWord) {
  // 64-bit words of different fields: 3 equal words among 2·10³ would have
  // probability below 2^-100.
  std::set<std::uint64_t> words;
  std::size_t count = 0;
  constexpr std::uint64_t top = std::uint64_t{1} << 63;
  for (const std::uint64_t seed : {std::uint64_t{0}, std::uint64_t{1}, top}) {
    for (const lab::numbers::Purpose purpose :
         {lab::numbers::Purpose::test, lab::numbers::Purpose::bench}) {
      for (const std::uint64_t row :
           {std::uint64_t{0}, std::uint64_t{1}, std::uint64_t{1} << 32, top}) {
        for (std::uint32_t draw = 0; draw < 64; ++draw, ++count)
          words.insert(lab::numbers::Stream(seed, purpose, row).bits(draw));
        words.insert(lab::numbers::Stream(seed, purpose, row).bits(0xffffffff));
        ++count;
      }
    }
  }
  EXPECT_EQ(words.size(), count);
}

RC_GTEST_PROP(Random, NumbersDoNotDependOnTheOrderTheyAreAskedFor, ()) {
  const auto seed = *rc::gen::arbitrary<std::uint64_t>();
  const auto row = *rc::gen::arbitrary<std::uint64_t>();
  const lab::numbers::Stream stream(seed, lab::numbers::Purpose::test, row);
  std::vector<double> forward;
  for (std::uint32_t draw = 0; draw < 33; ++draw) forward.push_back(stream.normal(draw));
  std::vector<double> backward(forward.size());
  for (std::uint32_t draw = 33; draw-- > 0;)
    backward[draw] = lab::numbers::Stream(seed, lab::numbers::Purpose::test, row).normal(draw);
  RC_ASSERT(forward == backward);
  const auto first = *rc::gen::inRange<std::uint32_t>(0, 33);
  const auto count = *rc::gen::inRange<std::uint32_t>(0, 34 - first);
  std::vector<double> filled(count);
  stream.fill_normal(filled, first);
  RC_ASSERT(std::equal(filled.begin(), filled.end(), forward.begin() + first));
}

TEST(Random, NumbersDoNotDependOnTheThread) {
  constexpr std::size_t rows = 64;
  const auto fill = [](std::vector<std::uint64_t>& out, std::size_t first, std::size_t step) {
    for (std::size_t row = first; row < rows; row += step) {
      const lab::numbers::Stream stream(7, lab::numbers::Purpose::test, row);
      out[row] = stream.below(1000003, 0) + std::bit_cast<std::uint64_t>(stream.uniform(1)) +
                 stream.bits(2);
    }
  };
  std::vector<std::uint64_t> alone(rows);
  fill(alone, 0, 1);
  std::vector<std::uint64_t> together(rows);
  std::vector<std::thread> threads;
  for (std::size_t t = 0; t < 4; ++t) threads.emplace_back(fill, std::ref(together), t, 4);
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(alone, together);
}

TEST(Random, UniformIsAnOddMultipleOfTwoToTheMinus53) {
  const lab::numbers::Stream stream(1, lab::numbers::Purpose::test, 0);
  for (std::uint32_t draw = 0; draw < 1000; ++draw) {
    const double u = stream.uniform(draw);
    const double k = u * 0x1p53;
    EXPECT_GT(u, 0);
    EXPECT_LT(u, 1);
    EXPECT_EQ(std::fmod(k, 2), 1) << draw;
  }
}

// Bounds below: a mean of n independent terms with standard deviation s exceeds ±6.2·s/√n with
// probability below 1e-9 (normal tail; n is large enough). The seeds are fixed.
constexpr double sigmas = 6.2;
constexpr std::uint32_t draws = 1U << 18;

TEST(Random, UniformHasItsMoments) {
  const lab::numbers::Stream stream(42, lab::numbers::Purpose::test, 3);
  double mean = 0;
  double square = 0;
  double lagged = 0;  // neighbours are uncorrelated: E[(u − ½)(u' − ½)] = 0
  for (std::uint32_t draw = 0; draw < draws; ++draw) {
    const double u = stream.uniform(draw) - 0.5;
    mean += u / draws;
    square += u * u / draws;
    lagged += u * (stream.uniform(draw + 1) - 0.5) / draws;
  }
  const double unit = sigmas / std::sqrt(draws);
  EXPECT_LT(std::abs(mean), unit * std::sqrt(1.0 / 12));
  EXPECT_LT(std::abs(square - 1.0 / 12), unit * std::sqrt(1.0 / 80 - 1.0 / 144));
  EXPECT_LT(std::abs(lagged), unit / 12);
}

TEST(Random, NormalHasItsMomentsAndIndependentPairs) {
  std::vector<double> x(draws);
  lab::numbers::Stream(42, lab::numbers::Purpose::test, 4).fill_normal(x);
  double moments[5] = {};
  double lagged = 0;
  double lagged_squares = 0;
  for (std::uint32_t i = 0; i < draws; ++i) {
    for (int power = 1; power <= 4; ++power) moments[power] += std::pow(x[i], power) / draws;
    const double next = x[(i + 1) % draws];
    lagged += x[i] * next / draws;
    lagged_squares += (x[i] * x[i] - 1) * (next * next - 1) / draws;
  }
  const double unit = sigmas / std::sqrt(draws);  // times the deviation: E x^2p − (E x^p)²
  EXPECT_LT(std::abs(moments[1]), unit);
  EXPECT_LT(std::abs(moments[2] - 1), unit * std::sqrt(2));
  EXPECT_LT(std::abs(moments[3]), unit * std::sqrt(15));
  EXPECT_LT(std::abs(moments[4] - 3), unit * std::sqrt(96));
  EXPECT_LT(std::abs(lagged), unit);
  EXPECT_LT(std::abs(lagged_squares), unit * 2);
}

TEST(Random, StreamsOfNeighbouringFieldsAreUncorrelated) {
  const std::vector<std::pair<lab::numbers::Stream, lab::numbers::Stream>> pairs{
      {lab::numbers::Stream(1, lab::numbers::Purpose::test, 0),
       lab::numbers::Stream(2, lab::numbers::Purpose::test, 0)},
      {lab::numbers::Stream(1, lab::numbers::Purpose::test, 0),
       lab::numbers::Stream(1, lab::numbers::Purpose::bench, 0)},
      {lab::numbers::Stream(1, lab::numbers::Purpose::test, 0),
       lab::numbers::Stream(1, lab::numbers::Purpose::test, 1)},
  };
  for (const auto& [a, b] : pairs) {
    double product = 0;
    for (std::uint32_t draw = 0; draw < draws; ++draw)
      product += (a.uniform(draw) - 0.5) * (b.uniform(draw) - 0.5) / draws;
    EXPECT_LT(std::abs(product), sigmas / std::sqrt(draws) / 12);
  }
}

TEST(Random, IntegersBelowNAreEquallyLikely) {
  const lab::numbers::Stream stream(9, lab::numbers::Purpose::test, 0);
  for (const std::uint64_t n : {1, 2, 3, 7, 10}) {
    std::map<std::uint64_t, double> counts;
    for (std::uint32_t draw = 0; draw < draws; ++draw) ++counts[stream.below(n, draw)];
    ASSERT_EQ(counts.size(), n);
    EXPECT_LT(counts.rbegin()->first, n);
    const double p = 1.0 / static_cast<double>(n);
    for (const auto& [value, count] : counts)
      EXPECT_LE(std::abs(count - draws * p), sigmas * std::sqrt(draws * p * (1 - p)))
          << value << " of " << n;
  }
}

TEST(Random, IntegersBelowLargeNAreNotBiasedToTheLowHalf) {
  // With n = 3·2^62, plain multiplication would make multiples of three twice as likely as other
  // numbers, and a quarter of the words are rejected, so that later attempts are used too.
  const std::uint64_t n = std::uint64_t{3} << 62;
  const lab::numbers::Stream stream(9, lab::numbers::Purpose::test, 1);
  double residues[3] = {};
  std::uint32_t rejected = 0;
  for (std::uint32_t draw = 0; draw < draws; ++draw) {
    const std::uint64_t value = stream.below(n, draw);
    ASSERT_LT(value, n);
    ++residues[value % 3];
    const double first =
        std::ldexp(static_cast<double>(stream.bits(draw)), -64) * static_cast<double>(n);
    if (std::abs(first - static_cast<double>(value)) > 4096) ++rejected;
  }
  for (const double count : residues)
    EXPECT_LE(std::abs(count - draws / 3.0), sigmas * std::sqrt(draws * 2.0 / 9));
  EXPECT_LE(std::abs(rejected - draws / 4.0), sigmas * std::sqrt(draws * 3.0 / 16));
}

TEST(Random, IntegersBelowZeroAreRefusedAndTheLargestBoundWorks) {
  const lab::numbers::Stream stream(9, lab::numbers::Purpose::test, 0);
  try {
    (void)stream.below(0, 0);
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), Code::usage);
  }
  EXPECT_LT(stream.below(std::numeric_limits<std::uint64_t>::max(), 0),
            std::numeric_limits<std::uint64_t>::max());
  EXPECT_EQ(stream.below(1, 17), 0U);
}

}  // namespace
}  // namespace tamis
