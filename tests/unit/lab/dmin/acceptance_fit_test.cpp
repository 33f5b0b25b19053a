// The fitted curve p(d): against counts where these are large, and the medians of
// the least d that follow.
#include <gtest/gtest.h>

#include <cmath>

#include <tamis/error.h>
#include <tamis/lab/dmin.h>
#include "support/lab/draws.h"

namespace tamis {
namespace {

lab::DminProblem small_problem(std::int64_t k, double gamma, double eps1) {
  return {.n = 96, .k = k, .gamma = gamma, .eps1 = eps1, .eps2 = 1, .causal = false, .seed = 5};
}

lab::AcceptanceFit fit_for(const lab::DminProblem& problem, std::int64_t matrix, int threads = 1) {
  return lab::fit_acceptance(problem.pattern(matrix), problem.conditions(),
                             problem.draw_seed(matrix),
                             {.accepted = 40, .least = 0.05, .step = 4, .threads = threads});
}

TEST(AcceptanceFit, ThreadsDoNotMatter) {
  const lab::DminProblem problem = small_problem(2, 2, 0.5);
  const lab::AcceptanceFit one = fit_for(problem, 0, 1);
  const lab::AcceptanceFit two = fit_for(problem, 0, 2);
  EXPECT_EQ(one.a, two.a);
  EXPECT_EQ(one.b, two.b);
  EXPECT_EQ(one.deviance, two.deviance);
}

TEST(AcceptanceFit, PassesThroughTheCountsItWasMadeFrom) {
  for (const auto& [k, gamma, eps1] : {std::tuple(1, 1.0, 0.5), {2, 2.0, 0.5}, {1, 1.0, 0.1}}) {
    const lab::AcceptanceFit fit = fit_for(small_problem(k, gamma, eps1), 0);
    EXPECT_GE(fit.counts.size(), 3U);
    EXPECT_EQ(fit.degrees, static_cast<std::int64_t>(fit.counts.size()) - 2);
    // Each of three problems with a fixed seed is tested at level 10⁻⁴.
    EXPECT_GT(fit.p_value, 1e-4) << "k " << k << ", eps1 " << eps1;
    for (std::size_t i = 1; i < fit.counts.size(); ++i)
      EXPECT_GT(fit.probability(static_cast<double>(fit.counts[i].d)),
                fit.probability(static_cast<double>(fit.counts[i - 1].d)));
  }
}

/// Extrapolates the curve to p far below its counts and compares it with draws of another seed.
TEST(AcceptanceFit, TellsTheRareAcceptancesThatItDidNotSee) {
  const lab::DminProblem problem = small_problem(1, 1, 0.5);
  const lab::AcceptanceFit fit = fit_for(problem, 0);
  constexpr std::int64_t draws = 40'000;
  std::int64_t d = fit.counts.front().d;
  while (fit.probability(static_cast<double>(d)) > 2e-3) d -= 2;
  const std::int64_t seen = test::count_accepted(problem.pattern(1), problem.conditions(), d,
                                                 {0, draws}, problem.draw_seed(1));
  const double expected = fit.probability(static_cast<double>(d)) * static_cast<double>(draws);
  const lab::ProbabilityInterval truth = lab::clopper_pearson(seen, draws, 1e-4);
  // Allows for the curve's own errors: four standard deviations of the logarithm of −log p.
  const double y = 1 / (2 / static_cast<double>(d) - 1 / 96.0);
  const double sd = std::sqrt(fit.var_a - 2 * y * fit.cov_ab + y * y * fit.var_b);
  const double lambda = -std::log(expected / static_cast<double>(draws));
  EXPECT_LT(std::exp(-lambda * std::exp(4 * sd)), truth.high);
  EXPECT_GT(std::exp(-lambda * std::exp(-4 * sd)), truth.low);
  EXPECT_GT(seen, 0);
}

TEST(AcceptanceFit, ItsMedianIsThatOfTheLawFromCounts) {
  for (const auto& [k, gamma] : {std::pair(1, 1.0), {2, 2.0}}) {
    const lab::DminProblem problem = small_problem(k, gamma, 0.5);
    lab::EstimateOptions options;
    options.draws = 4000;
    options.step = 4;
    options.Q = {0.2, 1, 5};
    const lab::DminEstimate estimate = lab::estimate_dmin(problem, options);
    const lab::AcceptanceFit fit = fit_for(problem, 0);
    for (const lab::DminLaw& law : estimate.laws) {
      const lab::DminMedian median = lab::dmin_median(fit, law.Q, 4);
      EXPECT_GE(static_cast<double>(median.d) + 4 + 4 * median.deviation,
                static_cast<double>(law.median_low))
          << law.Q;
      EXPECT_LE(static_cast<double>(median.d) - 4 - 4 * median.deviation,
                static_cast<double>(law.median_high))
          << law.Q;
      EXPECT_LT(median.deviation, 4) << "so that the bounds above say something";
      EXPECT_LE(median.between, static_cast<double>(median.d));
      EXPECT_GT(median.between, static_cast<double>(median.d) - 4);
    }
  }
}

TEST(AcceptanceFit, MoreDrawsNeverRaiseTheMedian) {
  const lab::AcceptanceFit fit = fit_for(small_problem(2, 1, 0.5), 0);
  double before = 1e300;
  for (const double Q : {0.1, 0.5, 1.0, 3.0, 20.0}) {
    const lab::DminMedian median = lab::dmin_median(fit, Q, 8);
    EXPECT_LE(median.between, before);
    before = median.between;
  }
}

TEST(AcceptanceFit, SaysWhereThereIsNoSlopeToCountOn) {
  const lab::DminProblem tiny{
      .n = 4, .k = 1, .gamma = 1, .eps1 = 0.5, .eps2 = 1, .causal = false, .seed = 0};
  try {
    (void)lab::fit_acceptance(tiny.pattern(0), tiny.conditions(), 0, {.step = 2});
    FAIL();
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("search instead"), std::string::npos) << error.what();
  }
  const lab::DminProblem problem = small_problem(1, 1, 0.5);
  EXPECT_THROW(
      (void)lab::fit_acceptance(problem.pattern(0), problem.conditions(), 0, {.accepted = 0}),
      Error);
  EXPECT_THROW(
      (void)lab::fit_acceptance(problem.pattern(0), problem.conditions(), 0, {.least = 0.9}),
      Error);
}

}  // namespace
}  // namespace tamis
