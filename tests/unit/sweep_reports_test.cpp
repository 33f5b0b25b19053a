// Reports of the sweeps `window`, `length` and `alpha` over planted results: their sentences follow the
// numbers, whichever way these go.
#include <gtest/gtest.h>

#include <cmath>

#include <tamis/conformal.h>
#include <tamis/sweep.h>

#include "experiments/alpha.h"
#include "experiments/length.h"
#include "experiments/window.h"

namespace tamis {
namespace {

SweepRequest grid_of(const std::string& name, std::vector<AxisValues> axes, double replicates = 3) {
  SweepRequest request;
  request.name = name;
  request.axes = std::move(axes);
  request.axes.push_back({"replicates", {replicates}});
  return request;
}

/// A report over planted results: `plant` makes the result of a point from its parameters.
template <class Plant>
SweepReport planted(const Experiment& experiment, const SweepRequest& request, const Plant& plant) {
  const Sweep sweep(request);
  std::vector<DonePoint> done;
  for (const SweepPoint& point : sweep.points()) {
    Json parameters = Json::parse(point.parameters);
    Json result = plant(parameters);
    done.push_back({std::move(parameters), std::move(result)});
  }
  const GridRequest grid{experiment.kind, {}, 0, nullptr};
  return experiment.report(grid, done);
}

bool says(const std::string& sentence, const std::string& words) {
  return sentence.find(words) != std::string::npos;
}

/// Points of `window` whose errors change by slope(rule, replicate) for every doubling of n.
template <class Slope>
SweepReport window_with(const SweepRequest& request, const Slope& slope) {
  return planted(window_experiment(), request, [&](const Json& p) {
    Json rules = Json::array();
    for (const Rule& rule : window_rules(p)) {
      const double x = std::log2(p.at("n").get<double>()) - 7;
      const double tau = 0.5 + x * slope(rule, p.at("replicate").get<std::int64_t>());
      const Json thrice{tau, tau, tau};
      rules.push_back({{"keys", 1}, {"tau", thrice}, {"error", thrice}, {"largest", thrice}});
    }
    return Json{{"bins", {{{"n", p.at("n")}, {"rules", rules}}}}};
  });
}

TEST(WindowReport, JudgesTheBestExponentByAnIntervalForAllOfThem) {
  // Three slopes of mean −1 and deviation s have the half width t·s/√3. It reaches 0 from s = 0.40 on with
  // t = 4.30 at 95 %, from s = 0.23 on with t = 7.65 at 1 − 0.05/3.
  const auto with_deviation = [](std::vector<double> exponents, double deviation) {
    return window_with(grid_of("window", {{"n", {64, 128, 256}}, {"C", std::move(exponents)}}),
                       [=](const Rule& rule, std::int64_t replicate) {
                         return rule.C == 0 ? 0.0
                                            : -0.01 * (1 + deviation * static_cast<double>(replicate - 1));
                       })
        .sentences[1];
  };
  EXPECT_TRUE(says(with_deviation({0.5}, 0.35), "error held here")) << with_deviation({0.5}, 0.35);
  EXPECT_TRUE(says(with_deviation({0.25, 0.5, 0.75}, 0.35), "error did not hold here"));
  EXPECT_TRUE(says(with_deviation({0.25, 0.5, 0.75}, 0.1), "error held here"));
}

TEST(WindowReport, OneReplicateTellsNothing) {
  const SweepReport report =
      window_with(grid_of("window", {{"n", {64, 128, 256}}}, 1),
                  [](const Rule& rule, std::int64_t) { return rule.C == 0 ? 0.1 : -0.1; });
  EXPECT_TRUE(says(report.sentences[0], "persists was not tested here")) << report.sentences[0];
  EXPECT_TRUE(says(report.sentences[0], "4 more have too few")) << report.sentences[0];
  EXPECT_TRUE(says(report.sentences[1], "error was not tested here")) << report.sentences[1];
}

TEST(WindowReport, TurnsWithTheTrendsOfWhatWasPlanted) {
  const SweepRequest request = grid_of("window", {{"n", {64, 128, 256}}});
  const auto plant_with = [&](double fixed_slope, double power_slope) {
    return planted(window_experiment(), request, [=](const Json& p) {
      const double x = std::log2(p.at("n").get<double>()) + 0.01 * p.at("replicate").get<double>();
      Json rules = Json::array();
      for (const Rule& rule : window_rules(p)) {
        const double tau = 0.5 + (rule.C == 0 ? fixed_slope : power_slope) * (x - 7) * (1 + x / 100);
        rules.push_back({{"keys", 1},
                         {"tau", {tau, tau, tau}},
                         {"error", {tau, tau, tau}},
                         {"largest", {tau, tau, tau}}});
      }
      return Json{{"bins", {{{"n", p.at("n")}, {"rules", rules}}}}};
    });
  };
  const SweepReport claimed = plant_with(0.1, -0.1);
  EXPECT_TRUE(says(claimed.sentences[0], "persists held here")) << claimed.sentences[0];
  EXPECT_TRUE(says(claimed.sentences[1], "falling error held here")) << claimed.sentences[1];
  const SweepReport opposite = plant_with(-0.1, 0.1);
  EXPECT_TRUE(says(opposite.sentences[0], "persists did not hold here")) << opposite.sentences[0];
  EXPECT_TRUE(says(opposite.sentences[1], "falling error did not hold here")) << opposite.sentences[1];
}

TEST(LengthReport, TurnsWithWhoseErrorIsLower) {
  const auto plant_with = [&](double mean_gain, double p90_gain, double replicates = 3) {
    const SweepRequest request = grid_of("length", {}, replicates);
    return planted(length_experiment(), request, [=](const Json& p) {
      Json rules = Json::array();
      const double noise = 0.001 * p.at("replicate").get<double>();
      for (const Rule& rule : length_rules(p)) {
        const double mean = 0.4 - mean_gain * (rule.C == 0 ? 0 : 1) + noise * rule.C;
        const double p90 = 0.6 - p90_gain * (rule.C == 0 ? 0 : 1) + noise * rule.C;
        const auto thrice = [](double x) { return Json{x, x, x}; };
        rules.push_back({{"alpha", 1},
                         {"keys", 64},
                         {"tau_mean", thrice(mean)},
                         {"tau_p90", thrice(p90)},
                         {"error_mean", thrice(mean)},
                         {"error_p90", thrice(p90)}});
      }
      return Json{{"rules", rules}};
    });
  };
  const SweepReport claimed = plant_with(0.1, 0.3);
  EXPECT_TRUE(says(claimed.sentences[0], "cost held here")) << claimed.sentences[0];
  EXPECT_TRUE(says(claimed.sentences[0], "25.0 % lower")) << claimed.sentences[0];
  EXPECT_TRUE(says(claimed.sentences[1], "It held by the 90th percentile")) << claimed.sentences[1];
  const SweepReport mixed = plant_with(-0.1, 0.3);
  EXPECT_TRUE(says(mixed.sentences[0], "cost did not hold here")) << mixed.sentences[0];
  EXPECT_TRUE(says(mixed.sentences[0], "20.0 % higher")) << mixed.sentences[0];
  EXPECT_TRUE(says(mixed.sentences[1], "It held by the 90th percentile")) << mixed.sentences[1];
  const SweepReport lonely = plant_with(0.1, 0.3, 1);
  EXPECT_TRUE(says(lonely.sentences[0], "cost was not tested here")) << lonely.sentences[0];
  EXPECT_TRUE(says(lonely.sentences[0], "too few heads to tell in 2 more")) << lonely.sentences[0];
  EXPECT_TRUE(says(lonely.sentences[1], "It was not tested by the 90th")) << lonely.sentences[1];
}

TEST(LengthReport, JudgesTheExponentOnTheOtherHalf) {
  // On its own half every C > 0 looks perfect for one of the halves, on the other half useless.
  const SweepRequest request = grid_of("length", {{"C", {0.25, 0.75}}});
  const SweepReport report = planted(length_experiment(), request, [](const Json& p) {
    Json rules = Json::array();
    for (const Rule& rule : length_rules(p)) {
      const Json both = rule.C == 0      ? Json{0.4, 0.4, 0.4}
                        : rule.C == 0.25 ? Json{0.4, 0.0, 0.8}
                                         : Json{0.4, 0.8, 0.0};
      rules.push_back({{"alpha", 1},
                       {"keys", 64},
                       {"tau_mean", both},
                       {"tau_p90", both},
                       {"error_mean", both},
                       {"error_p90", both}});
    }
    return Json{{"rules", rules}};
  });
  EXPECT_TRUE(says(report.sentences[0], "50.0 % higher")) << report.sentences[0];
}

TEST(AlphaReport, TurnsWithCoverageAndCost) {
  const auto plant_with = [&](std::int64_t conformal, std::int64_t hand, double hand_keys,
                              double replicates = 3) {
    const SweepRequest request = grid_of("alpha", {}, replicates);
    return planted(alpha_experiment(), request, [=](const Json& p) {
      Json rules = Json::array();
      const std::size_t count = alpha_rule_names(p).size();
      const std::int64_t noise = p.at("replicate");
      for (std::size_t r = 0; r < count; ++r) {
        const bool is_conformal = r < conformal_rules;
        const Coverage held_out = coverage((is_conformal ? conformal : hand) + noise, 1000);
        rules.push_back({{"alpha", 1},
                         {"C", 0.5},
                         {"rows", held_out.rows},
                         {"covered", held_out.covered},
                         {"low", held_out.low},
                         {"high", held_out.high},
                         {"keys", is_conformal ? 100.0 : hand_keys}});
      }
      return Json{{"rules", rules}, {"needed", 50}};
    });
  };
  const SweepReport good = plant_with(910, 700, 80);
  EXPECT_TRUE(says(good.sentences[0], "new rows held here")) << good.sentences[0];
  EXPECT_TRUE(says(good.sentences[1], "by hand held here")) << good.sentences[1];
  const SweepReport dear = plant_with(910, 950, 300);
  EXPECT_TRUE(says(dear.sentences[1], "by hand held here")) << dear.sentences[1];
  EXPECT_TRUE(says(dear.sentences[1], "up to 3.0 times")) << dear.sentences[1];
  const SweepReport bad = plant_with(700, 950, 80);
  EXPECT_TRUE(says(bad.sentences[0], "new rows did not hold here")) << bad.sentences[0];
  EXPECT_TRUE(says(bad.sentences[1], "by hand did not hold here")) << bad.sentences[1];
  EXPECT_TRUE(says(plant_with(700, 950, 300).sentences[1], "by hand did not hold here"));
  // Covered 899, 900 and 901 of 1000: nobody can say on which side of 0.9 that lies, whoever's rule it is.
  const SweepReport about = plant_with(899, 899, 80);
  EXPECT_TRUE(says(about.sentences[0], "new rows was not refuted here")) << about.sentences[0];
  EXPECT_TRUE(says(about.sentences[0], "not to be told from 0.9 in 2")) << about.sentences[0];
  EXPECT_TRUE(says(about.sentences[1], "by hand was not tested here")) << about.sentences[1];
  EXPECT_TRUE(says(about.sentences[1], "18 more pairs cannot be told apart")) << about.sentences[1];
  const SweepReport lonely = plant_with(700, 950, 80, 1);
  EXPECT_TRUE(says(lonely.sentences[0], "new rows was not tested here")) << lonely.sentences[0];
  EXPECT_TRUE(says(lonely.sentences[1], "by hand was not tested here")) << lonely.sentences[1];
}

}  // namespace
}  // namespace tamis
