// The bounds on the dimension of the paper's construction: their formulas, and those of a pattern.
#include <tamis/lab/bounds.h>

#include <gtest/gtest.h>

#include <cmath>

namespace tamis {
namespace {

TEST(Bounds, AreThoseOfThePaperAndSayWhenTheyAreVacuous) {
  // (6) at n = 1024, k = 2, γ = 1, (.5, 1): 2·⌈64·(1 + log 2)²·(2 log 1024 + log 1023 + log 2)⌉.
  const double m = std::ceil(64 * std::pow(1 + std::log(2.0), 2) *
                             (2 * std::log(1024.0) + std::log(1023.0) + std::log(2.0)));
  EXPECT_EQ(lab::paper_bound(1024, 2, 1, 0.5, 1).d, 2 * static_cast<std::int64_t>(m));
  EXPECT_TRUE(lab::paper_bound(1024, 2, 1, 0.5, 1).vacuous);
  EXPECT_TRUE(lab::paper_bound(3072, 1, 1, 0.1, 1).vacuous);
  EXPECT_TRUE(lab::sharper_bound(2816, 1, 1, 0.1, 1).vacuous);
  EXPECT_FALSE(lab::sharper_bound(3072, 1, 1, 0.1, 1).vacuous);
  EXPECT_LT(lab::sharper_bound(512, 4, 2, 0.5, 1).d, lab::paper_bound(512, 4, 2, 0.5, 1).d);
}

/// A 3 × 3 pattern with at most 2 nonzeros in a row, 3 in a column, and γ = 4.
lab::Pattern small() { return {3, 3, {0, 2, 4, 5}, {0, 1, 0, 2, 0}, {1, 4, 1, 1, 2}, {}, {}, {}}; }

TEST(Bounds, OfAPatternAreThoseOfItsFigures) {
  const lab::Conditions conditions{.eps1 = 0.2, .eps2 = 0.5};
  const auto paper = lab::paper_bound(small(), conditions);
  const auto sharper = lab::sharper_bound(small(), conditions);
  ASSERT_TRUE(paper && sharper);
  EXPECT_EQ(paper->d, lab::paper_bound(3, 3, 4, 0.2, 0.5).d);
  EXPECT_EQ(sharper->d, lab::sharper_bound(3, 2, 4, 0.2, 0.5).d);
  EXPECT_TRUE(paper->vacuous && sharper->vacuous);
}

TEST(Bounds, AreNoneForWeakConditionsAndForPatternsThatAreNotSquare) {
  lab::Pattern wide = small();
  wide.cols = 4;
  for (const auto& [pattern, conditions] :
       {std::pair(small(), lab::Conditions{.weak = true}), std::pair(wide, lab::Conditions{})}) {
    EXPECT_FALSE(lab::paper_bound(pattern, conditions));
    EXPECT_FALSE(lab::sharper_bound(pattern, conditions));
  }
}

}  // namespace
}  // namespace tamis
