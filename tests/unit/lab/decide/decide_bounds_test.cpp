// Bounds of the dimension: searches find what exists, constructions hold, and the rules for few
// rows or columns are exact.
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <set>

#include "lab/decide/column_order.h"
#include "lab/decide/full_set.h"
#include "lab/decide/sign_matrix.h"
#include "lab/decide/small_cases.h"
#include "lab/decide/spectral.h"
#include "lab/realise/seal.h"
#include "support/lab/hours.h"
#include "support/lab/signs.h"

namespace tamis::test {
namespace {

constexpr lab::Conditions weak{.weak = true};

std::uint64_t any_seed() { return *rc::gen::arbitrary<std::uint64_t>(); }

bool keys_hold(const lab::Pattern& pattern, const lab::decision::Keys& keys) {
  return lab::realisation::seal_shortest(pattern, weak,
                                         {pattern.rows, pattern.cols, keys.dim, {}, keys.k}, 1)
      .has_value();
}

/// Whether some set of that size is cut in every way, by trying all sets and all cuts.
bool has_full_set(const lab::decision::Side& side, std::int64_t size) {
  for (std::uint64_t set = 0; set < std::uint64_t{1} << side.elements; ++set) {
    if (std::popcount(set) != size) continue;
    std::set<std::uint64_t> splits;
    for (std::int64_t cut = 0; cut < side.cuts; ++cut) {
      std::uint64_t split = 0;
      const std::int64_t first = std::countr_zero(set);
      for (std::int64_t e = first; e < side.elements; ++e)
        if ((set >> e & 1U) != 0 && side.at(e, cut) != side.at(first, cut))
          split |= std::uint64_t{1} << e;
      splits.insert(split);
    }
    if (static_cast<std::int64_t>(splits.size()) == std::int64_t{1} << (size - 1)) return true;
  }
  return false;
}

TEST(SignMatrices, HoldRowsAndColumnsOfOneKindOnce) {
  // Columns 0 and 2 are equal, and so are 1 and 4. Row 1 is the complement of row 0; rows 2 and 3
  // are full or equal to others.
  const auto signs =
      lab::decision::sign_matrix(pattern_of_rows({"10101", "01010", "11111", "10101", "10100"}));
  EXPECT_EQ(signs->cols, 3);
  EXPECT_EQ(signs->row_of, (std::vector<std::int64_t>{lab::ones_row, 0, 4}));
  EXPECT_EQ(signs->kind_of, (std::vector<std::int64_t>{0, 1, 0, 1, 2}));
  EXPECT_TRUE(signs->at(0, 2) && signs->at(1, 0) && !signs->at(1, 1) && signs->at(2, 0) &&
              !signs->at(2, 2));
  const lab::decision::Side columns = lab::decision::side_of_columns(*signs);
  const lab::decision::Side rows = lab::decision::side_of_rows(*signs);
  for (std::int64_t i = 0; i < signs->rows; ++i)
    for (std::int64_t j = 0; j < signs->cols; ++j) {
      EXPECT_EQ(columns.at(j, i), signs->at(i, j));
      EXPECT_EQ(rows.at(i, j), signs->at(i, j));
    }
}

RC_GTEST_PROP(FullSets, AreFoundExactlyWhereTheyAre, ()) {
  Dice dice(any_seed());
  const lab::Pattern pattern = random_half(dice, 1 + dice.below(20), 1 + dice.below(7));
  const auto signs = lab::decision::sign_matrix(pattern);
  for (const lab::decision::Side& side :
       {lab::decision::side_of_columns(*signs), lab::decision::side_of_rows(*signs)}) {
    if (side.elements > 12) continue;
    for (std::int64_t size = 2; size <= 5; ++size) {
      Hours hours;
      const lab::decision::FullSetSearch search =
          lab::decision::find_full_set(*signs, side, size, hours.part());
      RC_ASSERT(search.found.has_value() == has_full_set(side, size));
      RC_ASSERT(search.complete == !search.found.has_value());
      if (search.found && size > 2)
        RC_ASSERT(lab::check_refutation(pattern, {size - 2, {}, *search.found}).holds);
    }
  }
}

TEST(FullSets, GiveUpWhenTheTimeIsOver) {
  Dice dice(3);
  std::vector<std::uint64_t> rows;
  for (int i = 0; i < 600; ++i)
    rows.push_back(1 + static_cast<std::uint64_t>(dice.below((std::int64_t{1} << 62) - 1)));
  const auto signs = lab::decision::sign_matrix(pattern_of_bits(rows, 62));
  Hours hours;
  lab::decision::Clock::Part none(hours.part(), 0);
  const lab::decision::FullSetSearch search =
      lab::decision::find_full_set(*signs, lab::decision::side_of_columns(*signs), 9, none);
  EXPECT_FALSE(search.found);
  EXPECT_FALSE(search.complete);
}

/// The rule for few columns: c kinds of columns need c − 1 dimensions if all their splits are cut
/// out, and c − 2 otherwise.
RC_GTEST_PROP(FewColumns, HaveKeysInAsManyDimensionsAsTheRuleSays, ()) {
  Dice dice(any_seed());
  const lab::Pattern pattern = random_half(dice, 1 + dice.below(24), 1 + dice.below(5));
  const auto signs = lab::decision::sign_matrix(pattern);
  const lab::decision::Keys keys = lab::decision::keys_of_few_columns(*signs);
  const std::int64_t c = signs->cols;
  const bool full = c >= 2 && has_full_set(lab::decision::side_of_columns(*signs), c);
  RC_ASSERT(keys.dim == std::max<std::int64_t>(1, full || c < 2 ? c - 1 : c - 2));
  RC_ASSERT(keys_hold(pattern, keys));
}

RC_GTEST_PROP(FewRows, HaveKeysInAsManyDimensionsAsTheRuleSays, ()) {
  Dice dice(any_seed());
  const lab::Pattern pattern = random_half(dice, 1 + dice.below(4), 1 + dice.below(20));
  const auto signs = lab::decision::sign_matrix(pattern);
  const auto keys = lab::decision::keys_of_few_rows(*signs);
  const std::int64_t r = signs->rows - 1;
  RC_PRE(r >= 1);
  const bool full = signs->cols == std::int64_t{1} << r;
  RC_ASSERT(keys->dim == std::max<std::int64_t>(1, full ? r : r - 1));
  RC_ASSERT(keys_hold(pattern, *keys));
}

RC_GTEST_PROP(FewColumns, HaveASimplexWithQueries, ()) {
  Dice dice(any_seed());
  const lab::Pattern pattern = random_half(dice, 1 + dice.below(20), 1 + dice.below(12));
  const auto candidate =
      lab::decision::simplex_with_queries(pattern, *lab::decision::sign_matrix(pattern));
  const auto sealed = lab::realisation::seal(pattern, weak, *candidate, 1);
  RC_ASSERT(sealed.has_value());
  RC_ASSERT(sealed->witness().q.info().dtype == DType::f32);
}

RC_GTEST_PROP(ColumnOrders, CountTheirChangesAndHaveKeys, ()) {
  Dice dice(any_seed());
  const lab::Pattern pattern = random_half(dice, 1 + dice.below(8), 2 + dice.below(7));
  const auto signs = lab::decision::sign_matrix(pattern);
  Hours hours;
  const auto found = lab::decision::column_order(*signs, 7, 5, hours.part());
  std::int64_t most = 0;
  for (std::int64_t row = 0; row < signs->rows; ++row) {
    std::int64_t changes = 0;
    for (std::size_t i = 1; i < found->order.size(); ++i)
      changes += signs->at(row, found->order[i]) != signs->at(row, found->order[i - 1]) ? 1 : 0;
    most = std::max(most, changes);
  }
  RC_ASSERT(found->changes == most);
  auto sorted = found->order;
  std::ranges::sort(sorted);
  for (std::size_t i = 0; i < sorted.size(); ++i)
    RC_ASSERT(sorted[i] == static_cast<std::int64_t>(i));
  const std::int64_t dim = std::max<std::int64_t>(1, found->changes);
  RC_ASSERT(keys_hold(pattern, lab::decision::keys_on_curve(*signs, *found, dim)));
  RC_ASSERT(keys_hold(pattern, lab::decision::keys_on_curve(*signs, *found, dim + 1)));
}

TEST(ColumnOrders, FindTheOrderThatWasShuffledAway) {
  Dice dice(5);
  constexpr std::int64_t n = 48;
  std::vector<std::int64_t> place(n);
  for (std::int64_t i = 0; i < n; ++i) place[static_cast<std::size_t>(i)] = i;
  for (std::int64_t i = n - 1; i > 0; --i)
    std::swap(place[static_cast<std::size_t>(i)],
              place[static_cast<std::size_t>(dice.below(i + 1))]);
  std::vector<std::uint64_t> rows;
  for (std::int64_t i = 0; i < n; ++i) {
    std::uint64_t row = 0;
    for (std::int64_t j = i; j < std::min(n, i + 5); ++j)
      row |= std::uint64_t{1} << place[static_cast<std::size_t>(j)];
    rows.push_back(row);
  }
  const auto signs = lab::decision::sign_matrix(pattern_of_bits(rows, n));
  Hours hours;
  EXPECT_EQ(lab::decision::column_order(*signs, 0, 20, hours.part())->changes, 2);
}

TEST(SpectralBounds, AreThoseOfForsterForHadamardSigns) {
  const lab::Pattern pattern = hadamard(64);
  Hours hours;
  const auto bound =
      lab::decision::spectral_bound(*lab::decision::sign_matrix(pattern), hours.part());
  EXPECT_NEAR(bound->sign_rank, 8, 0.01);
  EXPECT_TRUE(lab::check_refutation(pattern, {6, {}, bound->weights}).holds);
  EXPECT_FALSE(lab::check_refutation(pattern, {7, {}, bound->weights}).holds);
}

TEST(SpectralBounds, WeighDownRowsThatSpoilThem) {
  // 64 Hadamard rows and 64 that are nearly all ones. Without weights the latter hide the former.
  std::vector<std::uint64_t> rows = hadamard_rows(64);
  for (std::uint64_t i = 0; i < 64; ++i) rows.push_back(~(std::uint64_t{1} << i));
  const lab::Pattern pattern = pattern_of_bits(rows, 64);
  Hours hours;
  const auto bound =
      lab::decision::spectral_bound(*lab::decision::sign_matrix(pattern), hours.part());
  EXPECT_GT(bound->sign_rank, 7);
  EXPECT_TRUE(lab::check_refutation(pattern, {5, {}, bound->weights}).holds);
}

}  // namespace
}  // namespace tamis::test
