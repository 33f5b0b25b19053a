// The least d: its law against searches, its intervals against their definition, independence of
// the number of threads, known medians, and refused arguments.
#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include <tamis/error.h>
#include <tamis/lab/dmin.h>
#include <tamis/lab/generate.h>
#include "support/lab/draws.h"

namespace tamis {
namespace {

TEST(Dmin, TheLawIsThatOfTheSearch) {
  // Worked by hand: N = 2 draws, p = 0, ½, 1 at d = 2, 4, 6.
  const std::vector<std::vector<lab::Acceptance>> counts{{{2, 10, 0}, {4, 10, 5}, {6, 10, 10}}};
  const lab::DminLaw law = lab::dmin_law(counts, 4, 0.5, 0.05, 2, 4);
  EXPECT_DOUBLE_EQ(law.probability[0], 0);
  EXPECT_DOUBLE_EQ(law.probability[1], 0.75);
  EXPECT_DOUBLE_EQ(law.probability[2], 0.25);
  EXPECT_DOUBLE_EQ(law.at_most[2], 1);
  EXPECT_EQ(law.median, 4);
  EXPECT_EQ(law.p95, 6);
  EXPECT_EQ(law.window_error, 0);
  for (std::size_t i = 0; i < 3; ++i) {
    EXPECT_LE(law.low[i], law.at_most[i]);
    EXPECT_GE(law.high[i], law.at_most[i]);
  }
}

TEST(Dmin, LawsAreAveragedOverMatricesNotProbabilities) {
  // One matrix is always accepted at d = 2 and the other never, so half of all searches end there,
  // however many draws are made.
  const std::vector<std::vector<lab::Acceptance>> counts{{{2, 10, 10}, {4, 10, 10}},
                                                         {{2, 10, 0}, {4, 10, 10}}};
  const lab::DminLaw law = lab::dmin_law(counts, 100, 5, 0.05, 2, 100);
  EXPECT_DOUBLE_EQ(law.probability[0], 0.5);
  EXPECT_DOUBLE_EQ(law.probability[1], 0.5);
}

TEST(Dmin, DrawsThatAllFailBoundTheLawByTheirSum) {
  // None of 100,000 draws is accepted at each of ten dimensions. Then Σp ≤ log(1/δ')/100,000 with
  // δ' = δ/20, so with N = 100 draws for each d fewer than 1 % of searches end there. Ten single
  // intervals would allow ten times as many.
  std::vector<lab::Acceptance> none;
  for (std::int64_t d = 2; d <= 20; d += 2) none.push_back({d, 100000, 0});
  const std::vector<std::vector<lab::Acceptance>> counts{none};
  const lab::DminLaw law = lab::dmin_law(counts, 100, 1, 0.05, 2, 10);
  const double sum = std::log(20 / 0.05) / 100000;
  EXPECT_NEAR(law.high.back(), 1 - std::pow(1 - sum, 100), 1e-9);
  EXPECT_EQ(law.low.back(), 0);
}

TEST(Dmin, SearchesEndWhereTheLawSays) {
  const lab::DminProblem problem{.n = 24, .k = 1, .seed = 5};
  lab::EstimateOptions options;
  options.draws = 20000;
  options.Q = {1};
  options.step = 4;
  const lab::DminEstimate estimate = lab::estimate_dmin(problem, options);
  const lab::DminLaw& law = estimate.laws.front();
  constexpr int searches = 1000;
  std::map<std::int64_t, int> ends;
  const lab::Pattern pattern = problem.pattern(0);
  for (int s = 0; s < searches; ++s)
    ++ends[lab::search_dmin(pattern, problem.conditions(), 1000 + static_cast<std::uint64_t>(s),
                            {.step = 4, .threads = 1})
               .d];
  for (std::size_t i = 0; i < law.probability.size(); ++i) {
    const double p = law.probability[i];
    // Five standard deviations of the searches, and the band of the estimate.
    const double before_low = i == 0 ? 0 : law.low[i - 1];
    const double before_high = i == 0 ? 0 : law.high[i - 1];
    const double low = law.low[i] - before_high;
    const double high = law.high[i] - before_low;
    const double noise = 5 * std::sqrt(std::max(p * (1 - p), 1.0 / searches) / searches);
    const double seen = ends[estimate.pooled[i].d] / static_cast<double>(searches);
    EXPECT_GT(seen, low - noise) << estimate.pooled[i].d;
    EXPECT_LT(seen, high + noise) << estimate.pooled[i].d;
  }
}

TEST(Dmin, ClopperAndPearsonsIntervalsAreTheirDefinition) {
  for (const auto& [accepted, draws] : {std::pair{3, 20}, {1, 7}, {19, 20}}) {
    const lab::ProbabilityInterval p = lab::clopper_pearson(accepted, draws, 0.1);
    double at_least = 0;  // P(X ≥ accepted) at the low end is δ/2
    double at_most = 0;   // P(X ≤ accepted) at the high end is δ/2
    for (int x = 0; x <= draws; ++x) {
      const double ways =
          std::exp(std::lgamma(draws + 1) - std::lgamma(x + 1) - std::lgamma(draws - x + 1));
      if (x >= accepted) at_least += ways * std::pow(p.low, x) * std::pow(1 - p.low, draws - x);
      if (x <= accepted) at_most += ways * std::pow(p.high, x) * std::pow(1 - p.high, draws - x);
    }
    EXPECT_NEAR(at_least, 0.05, 1e-9);
    EXPECT_NEAR(at_most, 0.05, 1e-9);
  }
  EXPECT_EQ(lab::clopper_pearson(0, 5, 0.1).low, 0);
  EXPECT_EQ(lab::clopper_pearson(5, 5, 0.1).high, 1);
  EXPECT_NEAR(lab::clopper_pearson(0, 5, 0.1).high, 1 - std::pow(0.05, 0.2), 1e-12);
}

TEST(Dmin, ResultsDoNotDependOnThreadsNorOnPieces) {
  const lab::DminProblem problem{.n = 64, .k = 2, .gamma = 2, .seed = 9};
  const lab::Pattern pattern = problem.pattern(0);
  const auto search = [&](int threads) {
    return lab::search_dmin(pattern, problem.conditions(), 3, {.threads = threads});
  };
  const lab::DminSearch one = search(1);
  ASSERT_GT(one.d, 0);
  for (const int threads : {2, 3}) {
    EXPECT_EQ(search(threads).d, one.d);
    EXPECT_EQ(search(threads).draws, one.draws);
  }
  const std::int64_t d = one.d;
  const auto first = [&](std::int64_t from, std::int64_t count, int threads) {
    return lab::first_accepted(pattern, problem.conditions(), d, {from, count}, 3, threads);
  };
  const std::int64_t found = one.draws_at_d - 1;
  EXPECT_EQ(first(0, 64, 2), found);
  EXPECT_EQ(first(0, found, 2), std::nullopt);
  EXPECT_EQ(first(found, 10, 1), found);
  const auto count = [&](std::int64_t from, std::int64_t to, int threads) {
    return test::count_accepted(pattern, problem.conditions(), d, {from, to - from}, 3, threads);
  };
  EXPECT_EQ(count(0, 400, 2), count(0, 150, 1) + count(150, 400, 3));
}

TEST(Dmin, MediansAreTheKnownOnes) {
  struct Known {
    std::int64_t k;
    double gamma;
    double eps1;
    std::int64_t n;
    std::int64_t median;
  };
  for (const Known& known : {Known{1, 1, 0.5, 128, 96},
                             {1, 1, 0.1, 128, 192},
                             {2, 1, 0.5, 128, 144},
                             {2, 2, 0.5, 128, 144}}) {
    const lab::DminProblem problem{known.n, known.k, known.gamma, known.eps1, 1, false, 1};
    std::vector<std::int64_t> found;
    for (std::int64_t a = 0; a < 5; ++a)
      found.push_back(
          lab::search_dmin(problem.pattern(a), problem.conditions(), problem.draw_seed(a)).d);
    std::sort(found.begin(), found.end());
    EXPECT_NEAR(static_cast<double>(found[2]), static_cast<double>(known.median), 8)
        << "k " << known.k << " gamma " << known.gamma << " eps1 " << known.eps1;
  }
}

TEST(Dmin, AWindowSaysWhatItMayHaveMissed) {
  const lab::DminProblem problem{.n = 64, .k = 1, .seed = 2};
  lab::EstimateOptions options;
  options.draws = 500;
  options.from = 40;
  options.Q = {0.5, 1};
  const lab::DminEstimate estimate = lab::estimate_dmin(problem, options);
  const double per_d = 0.5 * 0.05 / static_cast<double>((2 * 64 - 40) / 8 + 1);
  const double upper = lab::clopper_pearson(estimate.pooled[0].accepted, 500, per_d).high;
  EXPECT_NEAR(estimate.laws[1].window_error, std::min(1.0, 64 * 4 * upper), 1e-9);
  EXPECT_GE(estimate.laws[1].high.front(), std::min(1.0, estimate.laws[1].window_error));
}

std::string said(const std::function<void()>& call) {
  try {
    call();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), Code::usage);
    return error.what();
  }
  return "nothing";
}

TEST(Dmin, RefusesWhatMakesNoSenseInOneSentence) {
  const lab::Pattern pattern = lab::permutations_pattern(16, 1, 1, 1);
  const auto search = [&](lab::Conditions conditions, lab::SearchOptions options) {
    return said([&] { (void)lab::search_dmin(pattern, conditions, 1, options); });
  };
  EXPECT_NE(search({.eps1 = 1}, {}).find("eps1"), std::string::npos);
  EXPECT_NE(search({.eps2 = 0}, {}).find("eps2"), std::string::npos);
  EXPECT_NE(search({.weak = true}, {}).find("weak"), std::string::npos);
  EXPECT_NE(search({}, {.Q = 0}).find("Q is 0"), std::string::npos);
  EXPECT_NE(search({}, {.Q = NAN}).find("Q is"), std::string::npos);
  EXPECT_NE(search({}, {.step = 3}).find("step"), std::string::npos);
  EXPECT_NE(search({}, {.from = 9}).find("multiple"), std::string::npos);
  EXPECT_NE(search({}, {.from = 40}).find("2n = 32"), std::string::npos);
  const auto accepted = [&](std::int64_t d) {
    return said([&] { (void)lab::first_accepted(pattern, {}, d, {0, 1}, 1); });
  };
  EXPECT_NE(accepted(34).find("2n = 32"), std::string::npos);
  EXPECT_NE(accepted(7).find("even"), std::string::npos);
  EXPECT_NE(said([] { (void)lab::DminProblem{.n = 4, .k = 5}.pattern(0); }).find("k"),
            std::string::npos);
  EXPECT_NE(said([] { (void)lab::DminProblem{.n = 4, .gamma = 0.5}.pattern(0); }).find("gamma"),
            std::string::npos);
}

TEST(Dmin, CanBeCancelled) {
  const lab::DminProblem problem{.n = 32};
  try {
    (void)lab::estimate_dmin(problem, {}, [](double, double) { return false; });
    FAIL() << "it was not";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), Code::cancelled);
  }
}

}  // namespace
}  // namespace tamis
