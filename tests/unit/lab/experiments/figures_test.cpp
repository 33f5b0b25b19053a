// The sweeps fig3, fig4 and frontier: small grids end to end, and reports on planted results.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include <tamis/error.h>
#include <tamis/lab/dmin.h>
#include <tamis/lab/sweep.h>

#include "lab/stats/dimension_law.h"

namespace tamis {
namespace {

using Json = nlohmann::ordered_json;

bool says(const std::string& sentence, const std::string& words) {
  return sentence.find(words) != std::string::npos;
}

/// A report over planted results.
template <class Plant>
lab::SweepReport planted(const lab::SweepRequest& request, const Plant& plant) {
  const lab::Sweep sweep(request);
  std::vector<std::optional<std::string>> results;
  for (const lab::SweepPoint& point : sweep.points())
    results.push_back(plant(Json::parse(point.parameters)).dump());
  return sweep.report(results);
}

/// The results of all points, which must be the same on 1 and on 2 threads.
std::vector<std::optional<std::string>> computed(const lab::Sweep& sweep) {
  std::vector<std::optional<std::string>> results;
  for (std::size_t i = 0; i < sweep.points().size(); ++i) {
    results.emplace_back(sweep.compute(i, 1));
    EXPECT_EQ(*results.back(), sweep.compute(i, 2)) << sweep.points()[i].parameters;
  }
  return results;
}

const std::vector<lab::AxisValues> small_fig3{
    {"n", {48, 64, 96, 128}}, {"k", {1, 2}},        {"gamma", {1}},
    {"eps1", {0.5}},          {"search_to", {96}},  {"step", {4}},
    {"matrices", {2}},        {"curve_from", {96}}, {"accepted", {20}}};

TEST(SweepFigures, APointOfFigure3IsTheSearchThatTheLibraryMakes) {
  const lab::Sweep sweep({"fig3", small_fig3, {}, 9});
  for (std::size_t i = 0; i < sweep.points().size(); ++i) {
    const Json p = Json::parse(sweep.points()[i].parameters);
    if (p.at("method") != "search" || p.at("n") != 48) continue;
    const lab::DminProblem problem{.n = p.at("n"),
                                   .k = p.at("k"),
                                   .gamma = p.at("gamma"),
                                   .eps1 = p.at("eps1"),
                                   .eps2 = 1,
                                   .causal = false,
                                   .seed = 9};
    const std::int64_t matrix = p.at("matrix");
    const lab::DminSearch found =
        lab::search_dmin(problem.pattern(matrix), problem.conditions(), problem.draw_seed(matrix),
                         {.Q = 1, .step = 4, .from = 0, .threads = 1});
    EXPECT_EQ(Json::parse(sweep.compute(i, 1)).at("d"), found.d);
  }
}

/// Medians found independently, by another program with the literal construction.
TEST(SweepFigures, MediansAreWithinAStepOfIndependentOnes) {
  struct Known {
    double k, gamma, eps1;
    std::int64_t d;
  };
  for (const Known& known : {Known{1, 1, 0.5, 96}, Known{1, 1, 0.1, 192}, Known{2, 1, 0.5, 144},
                             Known{2, 2, 0.5, 144}}) {
    const lab::Sweep sweep(
        {"fig3",
         {{"n", {128}}, {"k", {known.k}}, {"gamma", {known.gamma}}, {"eps1", {known.eps1}}},
         {},
         2026});
    std::vector<std::int64_t> found;
    for (std::size_t i = 0; i < sweep.points().size(); ++i)
      found.push_back(Json::parse(sweep.compute(i, 2)).at("d"));
    ASSERT_EQ(found.size(), 5U);
    std::ranges::sort(found);
    EXPECT_LE(std::abs(found[2] - known.d), 8)
        << "k " << known.k << ", gamma " << known.gamma << ", eps1 " << known.eps1;
  }
}

TEST(SweepFigures, Figure3RunsEndToEnd) {
  const lab::Sweep sweep({"fig3", small_fig3, {}, 1});
  const lab::SweepReport report = sweep.report(computed(sweep));
  EXPECT_EQ(report.table.size(), 1U + 2 * 4);  // setups by n
  EXPECT_EQ(report.fits.size(), 1U + 2);
  EXPECT_EQ(report.sentences.size(), 2U);
  EXPECT_TRUE(says(report.sentences[1], "curves and searches of the same n differ"))
      << report.sentences[1];
  const Json chart = Json::parse(report.vega);
  EXPECT_GT(chart.at("data").at("values").size(), 16U);
}

TEST(SweepFigures, OnePermutationIsOneSetupWhateverGamma) {
  const lab::Sweep sweep(
      {"fig3", {{"n", {64}}, {"k", {1}}, {"gamma", {1, 2, 5}}, {"matrices", {1}}}, {}, 0});
  EXPECT_EQ(sweep.points().size(), 2U);  // two values of eps1; n is below curve_from
}

/// Searches that follow a law exactly, except for rounding to the grid.
lab::SweepReport of_law(lab::stats::DimensionLaw law, double u, double v) {
  return planted({"fig3", {{"curve_from", {9999}}, {"search_to", {9999}}}, {}, 0},
                 [=](const Json& p) {
                   const double d = lab::stats::dimension_at(law, u, v, p.at("n"));
                   return Json{{"d", 8 * std::llround(d / 8)}, {"draws", 1}, {"at_d", 1}};
                 });
}

TEST(SweepFigures, Figure3FindsTheLawThatWasPlanted) {
  const lab::SweepReport log = of_law(lab::stats::DimensionLaw::logarithmic, -900, 180);
  EXPECT_TRUE(says(log.sentences[0], "held here: it fits 10 of 10")) << log.sentences[0];
  EXPECT_TRUE(says(log.sentences[0], "as a power law or more in 10 and as much less in 0"))
      << log.sentences[0];
  const lab::SweepReport power = of_law(lab::stats::DimensionLaw::power, 4, 0.8);
  EXPECT_TRUE(says(power.sentences[0], "did not hold here: it fits 0 of 10")) << power.sentences[0];
  EXPECT_TRUE(says(power.sentences[0], "as a power law or more in 0 and as much less in 10"))
      << power.sentences[0];
  const lab::SweepReport confined = of_law(lab::stats::DimensionLaw::confined, -2000, 800);
  EXPECT_TRUE(says(confined.sentences[1], "linear in log n in 10 of 10")) << confined.sentences[1];
  EXPECT_TRUE(says(confined.sentences[1], "as either other law in 10")) << confined.sentences[1];
}

/// A curve whose median lies at d, as sharp as the curves of real draws.
Json curve_through(std::int64_t n, double d, double p_value) {
  lab::AcceptanceFit fit;
  fit.n = n;
  fit.b = std::log(static_cast<double>(n)) * (2 / d - 1 / static_cast<double>(n));
  double low = -50;
  double high = 50;
  while (high - low > 1e-9) {
    fit.a = 0.5 * (low + high);
    (lab::dmin_median(fit, 1, 8).between > d ? high : low) = fit.a;
  }
  return {
      {"a", fit.a},   {"b", fit.b},         {"var_a", 1e-6},
      {"var_b", 0},   {"cov_ab", 0},        {"deviance", 1},
      {"degrees", 5}, {"p_value", p_value}, {"counts", Json::array({Json::array({64, 10, 5})})}};
}

TEST(SweepFigures, CurvesAreHeldAgainstSearchesAndTheirOwnCounts) {
  const lab::SweepReport report =
      planted({"fig3", {{"n", {512, 768, 1024, 2048}}, {"k", {1}}, {"eps1", {0.5}}}, {}, 0},
              [](const Json& p) {
                const std::int64_t n = p.at("n");
                const double d = lab::stats::dimension_at(lab::stats::DimensionLaw::logarithmic,
                                                          -200, 60, static_cast<double>(n));
                if (p.at("method") == "search")
                  return Json{{"d", 8 * std::llround(d / 8)}, {"draws", 1}, {"at_d", 1}};
                // 4 below the middle of the step, where the mean of searches lies; at n = 768,
                // 20 lower again.
                return curve_through(n, d - 4 - (n == 768 ? 20 : 0), n == 2048 ? 1e-5 : 0.5);
              });
  EXPECT_TRUE(says(report.sentences[1], "3 of 4 curves p(d) fit their counts"))
      << report.sentences[1];
  const auto at = report.sentences[1].find("at most ");
  ASSERT_NE(at, std::string::npos) << report.sentences[1];
  // 20, except for the rounding of searches to their grid.
  EXPECT_NEAR(std::stod(report.sentences[1].substr(at + 8)), 20, 4.1) << report.sentences[1];
  EXPECT_TRUE(says(report.sentences[1], "(3 compared")) << report.sentences[1];
  EXPECT_TRUE(says(report.sentences[0], "held here: it fits 1 of 1")) << report.sentences[0];
}

TEST(SweepFigures, ASearchWithoutEndLeavesItsCellOutOfTheFit) {
  const auto plant = [](std::int64_t none_at) {
    return planted(
        {"fig3",
         {{"n", {512, 768, 1024}}, {"k", {1}}, {"eps1", {0.5}}, {"curve_from", {9999}}},
         {},
         0},
        [=](const Json& p) {
          const bool none = p.at("n") == none_at && p.at("matrix") == 2;
          return Json{{"d", none ? 0 : 160 + p.at("n").get<int>() / 16}, {"draws", 1}, {"at_d", 1}};
        });
  };
  EXPECT_EQ(plant(0).fits.size(), 2U);
  EXPECT_EQ(plant(768).fits.size(), 1U);  // two lengths are left
}

TEST(SweepFigures, AxesThatMeanNoSearchAreRefusedBeforeAnyPoint) {
  EXPECT_THROW(lab::Sweep({"fig3", {{"step", {7}}}, {}, 0}), Error);
  EXPECT_THROW(lab::Sweep({"fig3", {{"n", {16}}, {"step", {64}}}, {}, 0}), Error);
  EXPECT_THROW(lab::Sweep({"fig3", {{"n", {16}}, {"Q", {0.01}}}, {}, 0}), Error);
  EXPECT_THROW(lab::Sweep({"fig4", {{"n", {16}}, {"Q", {0.01, 1}}}, {}, 0}), Error);
}

TEST(SweepFigures, AFewPointsGiveNoLaw) {
  const lab::Sweep sweep({"fig3", small_fig3, {}, 1});
  std::vector<std::optional<std::string>> results(sweep.points().size());
  EXPECT_TRUE(says(sweep.report(results).sentences[0], "Too few"));
  results[0] = R"({"d": 64, "draws": 3, "at_d": 1})";
  EXPECT_EQ(sweep.report(results).table.size(), 2U);
  results[0] = R"({"draws": 3})";
  EXPECT_THROW((void)sweep.report(results), Error);
  results[0] = "3";
  EXPECT_THROW((void)sweep.report(results), Error);
}

TEST(SweepFigures, Figure4IsAsManySearchesAsItHasQ) {
  const std::vector<lab::AxisValues> axes{{"n", {48, 64}},     {"k", {1}},
                                          {"step", {4}},       {"matrices", {1}},
                                          {"Q", {0.25, 1, 3}}, {"curve_from", {9999}}};
  const lab::Sweep sweep({"fig4", axes, {}, 3});
  const auto results = computed(sweep);
  for (std::size_t i = 0; i < results.size(); ++i) {
    const Json p = Json::parse(sweep.points()[i].parameters);
    const lab::DminProblem problem{
        .n = p.at("n"), .k = 1, .gamma = 1, .eps1 = 0.5, .eps2 = 1, .causal = false, .seed = 3};
    const std::vector<double> all_Q = p.at("Q");
    for (std::size_t q = 0; q < all_Q.size(); ++q) {
      const lab::DminSearch found =
          lab::search_dmin(problem.pattern(0), problem.conditions(), problem.draw_seed(0),
                           {.Q = all_Q[q], .step = 4, .from = 0, .threads = 1});
      EXPECT_EQ(Json::parse(*results[i]).at("d").at(q), found.d) << "Q " << all_Q[q];
    }
  }
  EXPECT_EQ(sweep.report(results).table.size(), 1U + 2 * 3);
}

TEST(SweepFigures, Figure4SaysWhenQMatters) {
  const lab::SweepRequest request{"fig4", {{"curve_from", {9999}}}, {}, 0};
  const auto with = [&](double fall) {
    return planted(request, [=](const Json& p) {
      std::vector<std::int64_t> least;
      for (const double Q : p.at("Q")) least.push_back(std::llround(400 - fall * std::log(Q)));
      return Json{{"d", least}};
    });
  };
  EXPECT_TRUE(says(with(5).sentences[0], "held here")) << with(5).sentences[0];
  EXPECT_TRUE(says(with(60).sentences[0], "did not hold")) << with(60).sentences[0];
}

TEST(SweepFigures, Figure4SaysNothingOfGrowthFromOneLength) {
  const lab::Sweep sweep(
      {"fig4",
       {{"n", {32, 64}}, {"k", {1}}, {"matrices", {1}}, {"curve_from", {64}}, {"step", {2}}},
       {},
       3});
  auto results = computed(sweep);
  EXPECT_TRUE(says(sweep.report(results).sentences[0], "raises it by"));
  for (std::size_t i = 0; i < results.size(); ++i) {
    const Json p = Json::parse(sweep.points()[i].parameters);
    if (p.at("n") == 64 && p.at("method") == "searches") results[i].reset();
  }
  const lab::SweepReport report = sweep.report(results);
  EXPECT_FALSE(says(report.sentences[0], "raises it by")) << report.sentences[0];
  EXPECT_GT(report.table.size(), 7U);  // the curve is shown
}

TEST(SweepFigures, TheFrontierRunsEndToEnd) {
  const lab::Sweep sweep({"frontier",
                          {{"n", {24, 32, 48}},
                           {"k", {1}},
                           {"dim", {3, 4, 6, 8, 12}},
                           {"matrices", {2}},
                           {"steps", {200}},
                           {"norm", {1.5, 2}}},
                          {},
                          0});
  const lab::SweepReport report = sweep.report(computed(sweep));
  EXPECT_EQ(report.table.size(), 1U + 3 * 5);
  EXPECT_EQ(report.fits.size(), 1U + 2);
}

TEST(SweepFigures, TheFrontierFindsTheLawThatWasPlanted) {
  // Norms chosen so that the dimension at the paper's norm follows the law.
  const auto with = [](lab::stats::DimensionLaw law, double u, double v) {
    return planted({"frontier", {{"k", {1}}, {"norm", {1}}}, {}, 0}, [=](const Json& p) {
      const double spread = 1 + 0.002 * (p.at("matrix").get<double>() - 1);
      const double at = spread * lab::stats::dimension_at(law, u, v, p.at("n"));
      return Json{{"verified", true},   {"paper", 3.0},
                  {"lower_bound", 2.0}, {"norm_product", 3 * at / p.at("dim").get<double>()},
                  {"max_logit", 1.0},   {"method", "descent"}};
    });
  };
  const lab::SweepReport log = with(lab::stats::DimensionLaw::logarithmic, -12, 5);
  EXPECT_TRUE(says(log.sentences[0], "log n survives when")) << log.sentences[0];
  const lab::SweepReport power = with(lab::stats::DimensionLaw::power, 0.4, 0.5);
  EXPECT_TRUE(says(power.sentences[0], "does not survive")) << power.sentences[0];
}

TEST(SweepFigures, TheFrontiersChartHasNoZeroOnItsLogarithmicAxis) {
  // A lower bound of 0 means that none is known; drawing it would push everything else to
  // the upper edge.
  const lab::SweepReport report =
      planted({"frontier", {{"n", {24, 32}}, {"k", {1}}}, {}, 0}, [](const Json& p) {
        return Json{
            {"verified", true},    {"paper", 3.0},     {"lower_bound", p.at("n") == 24 ? 0.0 : 2.0},
            {"norm_product", 4.0}, {"max_logit", 1.0}, {"method", "descent"}};
      });
  const Json chart = Json::parse(report.vega);
  int drawn = 0;
  for (const Json& value : chart.at("data").at("values")) {
    EXPECT_EQ(value.at("lower").is_null(), value.at("n") == 24);
    if (value.at("lower").is_number()) drawn += value.at("lower") == 2.0;
  }
  EXPECT_GT(drawn, 0);
}

}  // namespace
}  // namespace tamis
