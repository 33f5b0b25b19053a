// The checker of order proofs. Small cases need no solver: with few variables, all clauses over
// the first v − 1 of them, over the first v − 2, and so on down to the empty clause form a proof,
// if a proof exists.
#include "lab/verify/order_proof.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <numeric>

#include "lab/verify/unit_propagation.h"
#include "support/lab/orderings.h"
#include "support/lab/signs.h"

namespace tamis::test {
namespace {

std::uint64_t any_seed() {
  return *rc::gen::resize(rc::kNominalSize, rc::gen::arbitrary<std::uint64_t>());
}

using Clauses = std::vector<std::vector<std::int32_t>>;

Clauses tree_proof(int variables) {
  Clauses clauses;
  for (int length = variables - 1; length >= 0; --length) {
    for (unsigned signs = 0; signs < 1U << length; ++signs) {
      std::vector<std::int32_t>& clause = clauses.emplace_back();
      for (int v = 1; v <= length; ++v) clause.push_back((signs >> (v - 1) & 1U) != 0 ? v : -v);
    }
  }
  return clauses;
}

int choose(int n, int k) { return k == 0 ? 1 : choose(n - 1, k - 1) * n / k; }

/// The order proof of this side with all rows and columns of the pattern, if there is one.
lab::OrderProof whole(const lab::Pattern& pattern, std::int64_t dim, bool of_columns) {
  lab::OrderProof proof{.of_columns = of_columns, .elements = {}, .cuts = {}, .clauses = {}};
  std::vector<std::int64_t>& rows = of_columns ? proof.cuts : proof.elements;
  std::vector<std::int64_t>& cols = of_columns ? proof.elements : proof.cuts;
  rows.resize(static_cast<std::size_t>(pattern.rows) + 1);
  std::iota(rows.begin(), rows.end(), lab::ones_row);
  cols.resize(static_cast<std::size_t>(pattern.cols));
  std::iota(cols.begin(), cols.end(), 0);
  const int elements = static_cast<int>(proof.elements.size());
  const int rank = static_cast<int>(dim) + 1;
  proof.clauses = tree_proof(elements < rank ? 0 : choose(elements, rank));
  return proof;
}

bool refuted(const lab::Pattern& pattern, std::int64_t dim, bool of_columns) {
  return lab::verification::check_order_proof(pattern, dim, whole(pattern, dim, of_columns)).holds;
}

std::string why_not(const lab::Pattern& pattern, std::int64_t dim, const lab::OrderProof& proof) {
  const lab::RefutationCheck check = lab::verification::check_order_proof(pattern, dim, proof);
  EXPECT_FALSE(check.holds);
  EXPECT_FALSE(check.why.empty());
  return check.why;
}

TEST(OrderProof, OnALineDecidesEveryPatternOfThreeRowsAndColumns) {
  for (std::uint64_t bits = 0; bits < 512; ++bits) {
    const std::vector<std::uint64_t> rows{bits & 7U, bits >> 3 & 7U, bits >> 6};
    if (std::count(rows.begin(), rows.end(), 0U) > 0) continue;
    const lab::Pattern pattern = pattern_of_bits(rows, 3);
    EXPECT_NE(refuted(pattern, 1, true), fits_on_a_line(pattern)) << bits;
    EXPECT_NE(refuted(pattern, 1, false), fits_on_a_line(pattern)) << bits;
  }
}

RC_GTEST_PROP(OrderProof, OnALineDecidesPatternsOfFourRowsAndColumns, ()) {
  Dice dice(any_seed());
  const lab::Pattern pattern = random_half(dice, 4, 4);
  const bool fits = fits_on_a_line(pattern);
  RC_CLASSIFY(fits);
  RC_ASSERT(refuted(pattern, 1, true) != fits);
  RC_ASSERT(refuted(pattern, 1, false) != fits);
}

RC_GTEST_PROP(OrderProof, NoneRefutesAPlantedWitness, ()) {
  Dice dice(any_seed());
  const std::int64_t dim = *rc::gen::inRange<std::int64_t>(1, 4);
  const std::int64_t elements = dim == 3 ? 6 : 5;
  // Each level of the tree has all clauses over variables that a witness decides, so that one of
  // them does not follow.
  RC_ASSERT(!refuted(planted_halfspaces(dice, 12, elements, dim), dim, true));
  RC_ASSERT(!refuted(planted_halfspaces(dice, elements - 1, 12, dim), dim, false));
}

TEST(OrderProof, AllPairsOfSixColumnsNeedFourDimensionsAndOfFiveThree) {
  EXPECT_TRUE(refuted(all_pairs(6), 3, true));
  EXPECT_TRUE(refuted(all_pairs(5), 2, true));
  EXPECT_FALSE(refuted(all_pairs(5), 3, true));
  EXPECT_FALSE(refuted(all_pairs(4), 2, true));
}

TEST(OrderProof, ContainsTheFullSets) {
  // Five columns and every split of them.
  std::vector<std::uint64_t> rows(15);
  std::iota(rows.begin(), rows.end(), 1U);
  EXPECT_TRUE(refuted(pattern_of_bits(rows, 5), 3, true));
  rows.pop_back();
  EXPECT_FALSE(refuted(pattern_of_bits(rows, 5), 3, true));
}

TEST(OrderProof, OfTooFewElementsNeverHolds) {
  const lab::Pattern pattern = all_pairs(6);
  lab::OrderProof proof = whole(pattern, 3, true);
  for (std::size_t size : {4U, 3U, 0U}) {
    proof.elements.resize(size);
    proof.clauses = {{}};
    EXPECT_EQ(why_not(pattern, 3, proof),
              "clause 0 does not follow by unit propagation from those before it");
    proof.clauses.clear();
    EXPECT_EQ(why_not(pattern, 3, proof), "the clauses end without a contradiction");
  }
}

TEST(OrderProof, DoesNotHoldOnceTamperedWith) {
  // All splits of columns 0, 1, 3 and 4 occur; column 2 equals column 0.
  const lab::Pattern pattern =
      pattern_of_rows({"10100", "01000", "00010", "00001", "11100", "10110", "10101"});
  lab::OrderProof proof = whole(pattern, 2, true);
  proof.elements = {0, 1, 3, 4};
  proof.clauses = tree_proof(4);
  ASSERT_TRUE(lab::verification::check_order_proof(pattern, 2, proof).holds);
  EXPECT_FALSE(lab::verification::check_order_proof(pattern, 3, proof).holds);

  lab::OrderProof other = proof;
  other.elements[1] = 2;
  why_not(pattern, 2, other);
  for (std::size_t cut = 0; cut < proof.cuts.size(); ++cut) {
    other = proof;
    other.cuts.erase(other.cuts.begin() + static_cast<std::ptrdiff_t>(cut));
    why_not(pattern, 2, other);
  }
  other = proof;
  other.of_columns = false;
  other.elements = {0, 1, 2, 3};
  other.cuts = {0, 1, 2, 3, 4};
  why_not(pattern, 2, other);

  // The fourth variable is free: without the longest clauses the next ones do not follow.
  other = proof;
  other.clauses.erase(other.clauses.begin(), other.clauses.begin() + 8);
  EXPECT_EQ(why_not(pattern, 2, other),
            "clause 0 does not follow by unit propagation from those before it");
  other.clauses.clear();
  EXPECT_EQ(why_not(pattern, 2, other), "the clauses end without a contradiction");
}

TEST(OrderProof, NamesWhatIsOutOfRange) {
  const lab::Pattern pattern = all_pairs(6);
  const lab::OrderProof good = whole(pattern, 3, true);
  lab::OrderProof bad = good;
  bad.elements[2] = 1;
  EXPECT_EQ(why_not(pattern, 3, bad), "element 2 is 1, after 1: they must ascend");
  bad = good;
  bad.elements[5] = 6;
  EXPECT_EQ(why_not(pattern, 3, bad), "element 5 is 6, not one of 6 columns");
  bad = good;
  bad.elements[0] = -1;
  EXPECT_EQ(why_not(pattern, 3, bad), "element 0 is -1, not one of 6 columns");
  bad = good;
  bad.cuts[0] = -2;
  EXPECT_EQ(why_not(pattern, 3, bad), "cut 0 is -2, not one of 15 rows");
  bad = good;
  bad.cuts.back() = 15;
  EXPECT_EQ(why_not(pattern, 3, bad), "cut 15 is 15, not one of 15 rows");
  bad = good;
  bad.clauses[0][1] = 0;
  EXPECT_EQ(why_not(pattern, 3, bad), "clause 0 holds 0, which is no literal of 15 variables");
  bad.clauses[0][1] = -16;
  EXPECT_EQ(why_not(pattern, 3, bad), "clause 0 holds -16, which is no literal of 15 variables");
  EXPECT_EQ(why_not(pattern, 0, good), "an order proof is for 1 to 29 dimensions, not 0");
  EXPECT_EQ(why_not(pattern, 30, good), "an order proof is for 1 to 29 dimensions, not 30");
}

TEST(OrderProof, RefusesSizesThatWouldExhaustMemory) {
  std::vector<std::uint64_t> rows(64);
  for (std::size_t i = 0; i < rows.size(); ++i) rows[i] = 1ULL << i;
  const lab::Pattern pattern = pattern_of_bits(rows, 64);
  lab::OrderProof proof{.of_columns = true,
                        .elements = std::vector<std::int64_t>(64),
                        .cuts = {0, 1},
                        .clauses = {{}}};
  std::iota(proof.elements.begin(), proof.elements.end(), 0);
  EXPECT_NE(why_not(pattern, 1, proof).find("more than 4194304 clauses"), std::string::npos);
  EXPECT_NE(why_not(pattern, 9, proof).find("more than 1048576 sets of 10"), std::string::npos);
  EXPECT_NE(why_not(pattern, 29, proof).find("more than 1048576 sets of 30"), std::string::npos);
}

TEST(UnitPropagation, NamesTheClausesThatItNeeded) {
  lab::verification::UnitPropagation known(5);
  known.add(std::vector<std::int32_t>{1, 2});
  known.add(std::vector<std::int32_t>{4, 5});
  known.add(std::vector<std::int32_t>{-2, 3, 3});
  known.add(std::vector<std::int32_t>{5, -5});
  std::vector<std::int64_t> used;
  EXPECT_TRUE(known.implies(std::vector<std::int32_t>{1, 3}, &used));
  std::sort(used.begin(), used.end());
  EXPECT_EQ(used, (std::vector<std::int64_t>{0, 2}));
  EXPECT_FALSE(known.implies(std::vector<std::int32_t>{1, 4}, &used));
  EXPECT_TRUE(used.empty());
  EXPECT_TRUE(known.implies(std::vector<std::int32_t>{4, -4}));
  known.add(std::vector<std::int32_t>{-1});
  EXPECT_TRUE(known.implies(std::vector<std::int32_t>{3}, &used));
  std::sort(used.begin(), used.end());
  EXPECT_EQ(used, (std::vector<std::int64_t>{0, 2, 4}));
  EXPECT_FALSE(known.contradiction());
  known.add(std::vector<std::int32_t>{-3, -2});
  EXPECT_TRUE(known.contradiction());
  EXPECT_TRUE(known.implies({}, &used));
  std::sort(used.begin(), used.end());
  EXPECT_EQ(used, (std::vector<std::int64_t>{0, 2, 4, 5}));
}

RC_GTEST_PROP(UnitPropagation, AgreesWithPlainLoops, ()) {
  Dice dice(any_seed());
  lab::verification::UnitPropagation known(8);
  Clauses clauses;
  const auto random_clause = [&] {
    std::vector<std::int32_t> clause;
    for (std::int64_t n = 1 + dice.below(4); n > 0; --n)
      clause.push_back(static_cast<std::int32_t>((1 + dice.below(8)) * (dice.coin() ? 1 : -1)));
    return clause;
  };
  const auto follows = [&](const std::vector<std::int32_t>& clause) {
    std::vector<bool> on(17, false);  // literal l is at index 8 + l
    const auto at = [&](std::int32_t l) { return on[static_cast<std::size_t>(8 + l)]; };
    for (std::int32_t l : clause) on[static_cast<std::size_t>(8 - l)] = true;
    for (bool changed = true; changed;) {
      changed = false;
      for (std::int32_t v = 1; v <= 8; ++v)
        if (at(v) && at(-v)) return true;
      for (const auto& c : clauses) {
        std::vector<std::int32_t> left;
        for (std::int32_t l : c)
          if (!at(-l) && std::count(left.begin(), left.end(), l) == 0) left.push_back(l);
        if (left.empty()) return true;
        if (left.size() == 1 && !at(left[0]))
          on[static_cast<std::size_t>(8 + left[0])] = changed = true;
      }
    }
    return false;
  };
  for (int i = 0; i < 20; ++i) {
    const auto asked = random_clause();
    RC_ASSERT(known.implies(asked) == follows(asked));
    RC_ASSERT(known.contradiction() == follows({}));
    clauses.push_back(random_clause());
    known.add(clauses.back());
  }
}

}  // namespace
}  // namespace tamis::test
