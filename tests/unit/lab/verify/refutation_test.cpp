// Refutations are accepted only if they are true of the pattern, and files give back
// what was written.
#include <tamis/lab/refutation.h>

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "lab/decide/full_set.h"
#include "lab/decide/line/line.h"
#include "lab/decide/spectral.h"
#include "lab/verify/refutation_file.h"
#include "support/io_files.h"
#include "support/lab/hours.h"
#include "support/lab/lines.h"
#include "support/lab/signs.h"

namespace tamis::test {
namespace {

lab::Spectral all_ones(std::int64_t rows, std::int64_t cols) {
  lab::Spectral spectral;
  for (std::int64_t i = 0; i < rows; ++i) spectral.rows.push_back(i);
  for (std::int64_t j = 0; j < cols; ++j) spectral.columns.push_back(j);
  spectral.row_weights.assign(static_cast<std::size_t>(rows), 1);
  spectral.column_weights.assign(static_cast<std::size_t>(cols), 1);
  return spectral;
}

bool holds(const lab::Pattern& pattern, const lab::Refutation& refutation) {
  return lab::check_refutation(pattern, refutation).holds;
}

std::optional<lab::FullSet> full_set_in(const lab::Pattern& pattern, std::int64_t size,
                                        bool of_columns) {
  const auto signs = lab::decision::sign_matrix(pattern);
  Hours hours;
  return lab::decision::find_full_set(*signs,
                                      of_columns ? lab::decision::side_of_columns(*signs)
                                                 : lab::decision::side_of_rows(*signs),
                                      size, hours.part())
      .found;
}

/// One refutation of every kind that is checked against the pattern alone, together
/// with its pattern.
std::vector<std::pair<lab::Pattern, lab::Refutation>> examples() {
  std::vector<std::pair<lab::Pattern, lab::Refutation>> list;
  Dice dice(1);
  for (const Matrix& matrix : {planted_crossing(dice, 9, 9), planted_triple(dice, 9, 9)}) {
    lab::Pattern pattern = pattern_of(matrix);
    lab::Refutation refutation = std::get<lab::Refutation>(lab::decision::decide_line(pattern, {}));
    list.emplace_back(std::move(pattern), std::move(refutation));
  }
  lab::Pattern conflict = pattern_of(planted_conflict(dice, 9));
  lab::Refutation refutation = std::get<lab::Refutation>(lab::decision::decide_line(conflict, 1));
  list.emplace_back(std::move(conflict), std::move(refutation));
  const lab::Pattern pairs = all_pairs(6);
  list.emplace_back(pairs, lab::Refutation{3, {}, *full_set_in(pairs, 5, true)});
  const lab::Pattern dual = pattern_of_rows({"01010101", "00110011", "00001111"});
  list.emplace_back(dual, lab::Refutation{2, {}, *full_set_in(dual, 4, false)});
  list.emplace_back(hadamard(16), lab::Refutation{2, {}, all_ones(16, 16)});
  return list;
}

TEST(Refutations, HoldOfThePatternsTheyWereMadeFor) {
  for (const auto& [pattern, refutation] : examples())
    EXPECT_EQ(lab::check_refutation(pattern, refutation).why, "")
        << lab::name_of(refutation.grounds);
}

TEST(Refutations, OfMoreThanTheirGroundsProveAreRefused) {
  for (auto [pattern, refutation] : examples()) {
    ++refutation.dim;
    EXPECT_FALSE(holds(pattern, refutation)) << lab::name_of(refutation.grounds);
    refutation.dim = 0;
    EXPECT_FALSE(holds(pattern, refutation)) << lab::name_of(refutation.grounds);
  }
}

TEST(Refutations, OfIndicesOutsideThePatternAreRefused) {
  const auto list = examples();
  for (const std::int64_t wrong : {std::int64_t{-2}, std::int64_t{99}, std::int64_t{1} << 62}) {
    lab::Refutation r = list[0].second;
    std::get<lab::OddCircle>(r.grounds).relations[0].a = wrong;
    EXPECT_FALSE(holds(list[0].first, r));
    r = list[0].second;
    std::get<lab::OddCircle>(r.grounds).relations[0].first = wrong;
    EXPECT_FALSE(holds(list[0].first, r));
    r = list[2].second;
    std::get<lab::SignConflict>(r.grounds).minus.turn.second = wrong;
    EXPECT_FALSE(holds(list[2].first, r));
    r = list[3].second;
    std::get<lab::FullSet>(r.grounds).elements[1] = wrong;
    EXPECT_FALSE(holds(list[3].first, r));
    r = list[3].second;
    std::get<lab::FullSet>(r.grounds).cuts[1] = wrong;
    EXPECT_FALSE(holds(list[3].first, r));
    r = list[5].second;
    std::get<lab::Spectral>(r.grounds).columns[1] = wrong;
    EXPECT_FALSE(holds(list[5].first, r));
    r = list[5].second;
    std::get<lab::Spectral>(r.grounds).row_weights[1] = wrong;
    EXPECT_FALSE(holds(list[5].first, r));
  }
}

TEST(Refutations, OfASignConflictAreForHiddenSizeOneOnly) {
  auto [pattern, refutation] = examples()[2];
  for (const std::optional<std::int64_t> hidden :
       {std::optional<std::int64_t>(), std::optional<std::int64_t>(2)}) {
    refutation.hidden = hidden;
    EXPECT_FALSE(holds(pattern, refutation));
  }
}

TEST(Refutations, OfASolverAreNeverAProof) {
  const lab::Refutation refutation{1, {}, lab::SolverSaid{{{"z3", "unsat", 0.1}}, "(check-sat)"}};
  EXPECT_FALSE(refutation.proved());
  EXPECT_FALSE(holds(pattern_of_rows({"10", "01"}), refutation));
}

TEST(Refutations, BySpectralNormNeedMoreThanEquality) {
  // ‖H‖ = 4 and √256/4 = 4: the sign-rank is at least 4, which excludes dimensions up to 2.
  EXPECT_TRUE(holds(hadamard(16), {2, {}, all_ones(16, 16)}));
  EXPECT_FALSE(holds(hadamard(16), {3, {}, all_ones(16, 16)}));
  EXPECT_TRUE(holds(hadamard(32), {4, {}, all_ones(32, 32)}));  // √32 = 5.66
  EXPECT_FALSE(holds(hadamard(32), {5, {}, all_ones(32, 32)}));
}

/// However a refutation is changed, it is never accepted for a pattern that has a witness.
RC_GTEST_PROP(Refutations, AreNeverAcceptedOfPatternsWithAWitness, ()) {
  Dice dice(*rc::gen::arbitrary<std::uint64_t>());
  const std::int64_t dim = 1 + dice.below(3);
  const std::int64_t n = 5 + dice.below(8);
  const lab::Pattern pattern = planted_halfspaces(dice, n, n, dim);
  for (int i = 0; i < 60; ++i) {
    lab::Refutation claim;
    claim.dim = dim + dice.below(2);
    const auto row = [&] { return dice.below(n + 1) - 1; };
    const auto column = [&] { return dice.below(n); };
    const std::int64_t kind = dice.below(3);
    if (kind == 0) {
      lab::FullSet set;
      set.of_columns = dice.coin();
      for (std::int64_t e = 0; e < claim.dim + 2; ++e)
        set.elements.push_back(set.of_columns ? column() : row());
      // Uses cuts that make the split where one exists, so that the claim is as nearly
      // true as possible.
      for (std::size_t split = 0; split < std::size_t{1} << (claim.dim + 1); ++split) {
        std::int64_t best = set.of_columns ? row() : column();
        const auto sign = [&](std::int64_t e, std::int64_t c) {
          const std::int64_t r = set.of_columns ? c : e;
          const auto columns =
              r == lab::ones_row ? std::span<const std::int64_t>() : pattern.columns_of(r);
          return r == lab::ones_row || std::ranges::binary_search(columns, set.of_columns ? e : c);
        };
        for (std::int64_t c = set.of_columns ? -1 : 0; c < n; ++c) {
          std::size_t made = 0;
          for (std::size_t e = 1; e < set.elements.size(); ++e)
            if (sign(set.elements[e], c) != sign(set.elements[0], c))
              made |= std::size_t{1} << (e - 1);
          if (made == split) best = c;
        }
        set.cuts.push_back(best);
      }
      claim.grounds = set;
    } else if (kind == 1) {
      // The weights with the largest bound, some of them reduced.
      Hours hours;
      lab::Spectral spectral =
          lab::decision::spectral_bound(*lab::decision::sign_matrix(pattern), hours.part())
              ->weights;
      for (auto* weights : {&spectral.row_weights, &spectral.column_weights})
        for (std::int64_t& weight : *weights)
          weight = std::max<std::int64_t>(1, weight >> dice.below(3));
      claim.grounds = spectral;
    } else {
      const auto relation = [&](std::int64_t a, std::int64_t b) {
        return lab::Relation{a, b, dice.coin(), column(), column()};
      };
      lab::OddCircle circle;
      const std::int64_t first = dice.below(n);
      for (std::int64_t a = first, left = 1 + dice.below(3); left >= 0; --left) {
        const std::int64_t b = left == 0 ? first : dice.below(n);
        circle.relations.push_back(relation(a, b));
        a = b;
      }
      claim.grounds = circle;
    }
    RC_ASSERT(!holds(pattern, claim));
  }
}

TEST(RefutationFiles, GiveBackWhatWasWritten) {
  Folder folder;
  auto list = examples();
  list.emplace_back(
      all_pairs(6),
      lab::Refutation{3, 5, lab::OrderProof{false, {-1, 2}, {0, 3}, {{1, -2}, {-7}, {}}}});
  list.emplace_back(
      all_pairs(6),
      lab::Refutation{
          3, 4, lab::SolverSaid{{{"z3 4", "unsat", 0.25}, {"cvc5", "unknown", 1}}, "(a \"b\")\n"}});
  for (const auto& [pattern, refutation] : list) {
    const std::string path = folder / "r.json";
    lab::write_refutation(path, refutation);
    const lab::Refutation again = lab::read_refutation(path);
    EXPECT_EQ(lab::refutation_text(again), lab::refutation_text(refutation));
    EXPECT_EQ(again.dim, refutation.dim);
    EXPECT_EQ(again.hidden, refutation.hidden);
    EXPECT_EQ(again.grounds.index(), refutation.grounds.index());
    EXPECT_EQ(holds(pattern, again), holds(pattern, refutation));
  }
}

TEST(RefutationFiles, ThatSayAThingTwiceAreRefused) {
  const std::string circle =
      R"({"format":"tamis-refutation","version":1,"dim":1,"hidden":null,"grounds":"odd circle",)"
      R"("relations":[{"a":0,"b":0,"same":true,"first":0,"second":1}]})";
  const auto sentence = [](const std::string& file) -> std::string {
    try {
      (void)lab::verification::parse_refutation(*source_of(file));
      return "accepted";
    } catch (const Error& error) {
      return error.code() == Code::input ? error.what() : "another code";
    }
  };
  EXPECT_EQ(sentence(circle), "accepted");
  for (const auto& [before, more, key] :
       {std::tuple{R"("dim":1)", R"("dim":9,)", "dim"},
        std::tuple{R"("version":1)", R"("version":1,)", "version"},
        std::tuple{R"("same":true)", R"("same":false,)", "same"},
        std::tuple{R"("same":true)", R"("s\u0061me":false,)", "same"},
        std::tuple{R"("grounds":)", R"("mine":{"x":[{"y":1,"y":1}]},)", "y"}}) {
    std::string twice = circle;
    twice.insert(twice.find(before), more);
    EXPECT_EQ(sentence(twice), "input: an object has two members '" + std::string(key) +
                                   "'; each may be there once");
  }
}

TEST(RefutationFiles, ThatAreWrongAreRefusedWithASentenceThatNamesTheMember) {
  const auto [pattern, refutation] = examples()[3];
  const std::string text = lab::refutation_text(refutation);
  const auto sentence = [](const std::string& file) -> std::string {
    try {
      (void)lab::verification::parse_refutation(*source_of(file));
      return "accepted";
    } catch (const Error& error) {
      return error.code() == Code::input ? error.what() : "another code";
    }
  };
  const auto replaced = [&](const std::string& from, const std::string& to) {
    std::string changed = text;
    changed.replace(changed.find(from), from.size(), to);
    return sentence(changed);
  };
  EXPECT_EQ(sentence("[]"),
            "input: is not a refutation that `tamis decide --refutation` wrote (\"format\" must be "
            "\"tamis-refutation\")");
  EXPECT_EQ(sentence("{"), "input: is not JSON from its byte 2 on; give a refutation");
  EXPECT_EQ(replaced("\"version\": 1", "\"version\": 2"),
            "input: is a refutation of a version that this tamis does not read; it reads 1");
  EXPECT_EQ(replaced("\"dim\": 3", "\"dim\": -3"), "input: dim must be a whole number, at least 0");
  EXPECT_EQ(replaced("full set", "fool set"),
            "input: grounds is 'fool set'; there are no such grounds");
  EXPECT_EQ(replaced("full set", "spectral"), "input: there is no member rows; give a refutation");
  EXPECT_EQ(replaced("\"of_columns\": true", "\"of_columns\": 1"),
            "input: of_columns must be true or false");
  EXPECT_EQ(replaced("\"hidden\": null", "\"hidden\": 0.5"),
            "input: hidden must be a whole number, at least 0");
  const std::string proof =
      lab::refutation_text({1, {}, lab::OrderProof{true, {0}, {0}, {{1, 2}, {}}}});
  for (const std::string wrong : {"1 2", "1 x 0", "1 0 2", "99999999999 0"}) {
    std::string changed = proof;
    changed.replace(changed.find("1 2 0"), 5, wrong);
    EXPECT_NE(sentence(changed).find("; line 1 "), std::string::npos) << wrong;
  }
}

}  // namespace
}  // namespace tamis::test
