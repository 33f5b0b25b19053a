// Reports of the sweeps `window`, `length` and `alpha` on planted results: the sentences follow
// the numbers, whichever way these go.
#include <gtest/gtest.h>

#include <cmath>

#include <tamis/lab/conformal.h>
#include <tamis/lab/sweep.h>

#include "lab/experiments/alpha/alpha.h"
#include "lab/experiments/length/length.h"
#include "lab/experiments/window/window.h"

namespace tamis {
namespace {

lab::SweepRequest grid_of(const std::string& name, std::vector<lab::AxisValues> axes,
                          double replicates = 3) {
  lab::SweepRequest request;
  request.name = name;
  request.axes = std::move(axes);
  request.axes.push_back({"replicates", {replicates}});
  return request;
}

/// A report on planted results, where `plant` makes the result of a point from its parameters.
template <class Plant>
lab::SweepReport planted(const lab::experiments::Experiment& experiment,
                         const lab::SweepRequest& request, const Plant& plant) {
  const lab::Sweep sweep(request);
  std::vector<lab::experiments::DonePoint> done;
  for (const lab::SweepPoint& point : sweep.points()) {
    lab::experiments::Json parameters = lab::experiments::Json::parse(point.parameters);
    lab::experiments::Json result = plant(parameters);
    done.push_back({std::move(parameters), std::move(result)});
  }
  const lab::experiments::GridRequest grid{experiment.kind, {}, 0, nullptr};
  return experiment.report(grid, done);
}

bool says(const std::string& sentence, const std::string& words) {
  return sentence.find(words) != std::string::npos;
}

/// Points of `window` whose errors change by slope(rule, replicate) per doubling of n.
template <class Slope>
lab::SweepReport window_with(const lab::SweepRequest& request, const Slope& slope) {
  return planted(
      lab::experiments::window_experiment(), request, [&](const lab::experiments::Json& p) {
        lab::experiments::Json rules = lab::experiments::Json::array();
        for (const lab::experiments::Rule& rule : lab::experiments::window_rules(p)) {
          const double x = std::log2(p.at("n").get<double>()) - 7;
          const double tau = 0.5 + x * slope(rule, p.at("replicate").get<std::int64_t>());
          const lab::experiments::Json thrice{tau, tau, tau};
          rules.push_back({{"keys", 1}, {"tau", thrice}, {"error", thrice}, {"largest", thrice}});
        }
        return lab::experiments::Json{{"bins", {{{"n", p.at("n")}, {"rules", rules}}}}};
      });
}

TEST(WindowReport, JudgesTheBestExponentByAnIntervalForAllOfThem) {
  // Three slopes of mean −1 and standard deviation s have a half width of t·s/√3. It reaches 0
  // from s = 0.40 on with t = 4.30 (95 %), and from s = 0.23 on with t = 7.65 (1 − 0.05/3).
  const auto with_deviation = [](std::vector<double> exponents, double deviation) {
    return window_with(grid_of("window", {{"n", {64, 128, 256}}, {"C", std::move(exponents)}}),
                       [=](const lab::experiments::Rule& rule, std::int64_t replicate) {
                         return rule.C == 0
                                    ? 0.0
                                    : -0.01 * (1 + deviation * static_cast<double>(replicate - 1));
                       })
        .sentences[1];
  };
  EXPECT_TRUE(says(with_deviation({0.5}, 0.35), "error held here")) << with_deviation({0.5}, 0.35);
  EXPECT_TRUE(says(with_deviation({0.25, 0.5, 0.75}, 0.35), "error did not hold here"));
  EXPECT_TRUE(says(with_deviation({0.25, 0.5, 0.75}, 0.1), "error held here"));
}

TEST(WindowReport, OneReplicateTellsNothing) {
  const lab::SweepReport report = window_with(
      grid_of("window", {{"n", {64, 128, 256}}}, 1),
      [](const lab::experiments::Rule& rule, std::int64_t) { return rule.C == 0 ? 0.1 : -0.1; });
  EXPECT_TRUE(says(report.sentences[0], "persists was not tested here")) << report.sentences[0];
  EXPECT_TRUE(says(report.sentences[0], "4 more have too few")) << report.sentences[0];
  EXPECT_TRUE(says(report.sentences[1], "error was not tested here")) << report.sentences[1];
}

TEST(WindowReport, TurnsWithTheTrendsOfWhatWasPlanted) {
  const lab::SweepRequest request = grid_of("window", {{"n", {64, 128, 256}}});
  const auto plant_with = [&](double fixed_slope, double power_slope) {
    return planted(
        lab::experiments::window_experiment(), request, [=](const lab::experiments::Json& p) {
          const double x =
              std::log2(p.at("n").get<double>()) + 0.01 * p.at("replicate").get<double>();
          lab::experiments::Json rules = lab::experiments::Json::array();
          for (const lab::experiments::Rule& rule : lab::experiments::window_rules(p)) {
            const double tau =
                0.5 + (rule.C == 0 ? fixed_slope : power_slope) * (x - 7) * (1 + x / 100);
            rules.push_back({{"keys", 1},
                             {"tau", {tau, tau, tau}},
                             {"error", {tau, tau, tau}},
                             {"largest", {tau, tau, tau}}});
          }
          return lab::experiments::Json{{"bins", {{{"n", p.at("n")}, {"rules", rules}}}}};
        });
  };
  const lab::SweepReport claimed = plant_with(0.1, -0.1);
  EXPECT_TRUE(says(claimed.sentences[0], "persists held here")) << claimed.sentences[0];
  EXPECT_TRUE(says(claimed.sentences[1], "falling error held here")) << claimed.sentences[1];
  const lab::SweepReport opposite = plant_with(-0.1, 0.1);
  EXPECT_TRUE(says(opposite.sentences[0], "persists did not hold here")) << opposite.sentences[0];
  EXPECT_TRUE(says(opposite.sentences[1], "falling error did not hold here"))
      << opposite.sentences[1];
}

TEST(LengthReport, TurnsWithWhoseErrorIsLower) {
  const auto plant_with = [&](double mean_gain, double p90_gain, double replicates = 3) {
    const lab::SweepRequest request = grid_of("length", {}, replicates);
    return planted(lab::experiments::length_experiment(), request,
                   [=](const lab::experiments::Json& p) {
                     lab::experiments::Json rules = lab::experiments::Json::array();
                     const double noise = 0.001 * p.at("replicate").get<double>();
                     for (const lab::experiments::Rule& rule : lab::experiments::length_rules(p)) {
                       const double mean = 0.4 - mean_gain * (rule.C == 0 ? 0 : 1) + noise * rule.C;
                       const double p90 = 0.6 - p90_gain * (rule.C == 0 ? 0 : 1) + noise * rule.C;
                       const auto thrice = [](double x) { return lab::experiments::Json{x, x, x}; };
                       rules.push_back({{"alpha", 1},
                                        {"keys", 64},
                                        {"tau_mean", thrice(mean)},
                                        {"tau_p90", thrice(p90)},
                                        {"error_mean", thrice(mean)},
                                        {"error_p90", thrice(p90)}});
                     }
                     return lab::experiments::Json{{"rules", rules}};
                   });
  };
  const lab::SweepReport claimed = plant_with(0.1, 0.3);
  EXPECT_TRUE(says(claimed.sentences[0], "cost held here")) << claimed.sentences[0];
  EXPECT_TRUE(says(claimed.sentences[0], "25.0 % lower")) << claimed.sentences[0];
  EXPECT_TRUE(says(claimed.sentences[1], "It held by the 90th percentile")) << claimed.sentences[1];
  const lab::SweepReport mixed = plant_with(-0.1, 0.3);
  EXPECT_TRUE(says(mixed.sentences[0], "cost did not hold here")) << mixed.sentences[0];
  EXPECT_TRUE(says(mixed.sentences[0], "20.0 % higher")) << mixed.sentences[0];
  EXPECT_TRUE(says(mixed.sentences[1], "It held by the 90th percentile")) << mixed.sentences[1];
  const lab::SweepReport lonely = plant_with(0.1, 0.3, 1);
  EXPECT_TRUE(says(lonely.sentences[0], "cost was not tested here")) << lonely.sentences[0];
  EXPECT_TRUE(says(lonely.sentences[0], "too few heads to tell in 2 more")) << lonely.sentences[0];
  EXPECT_TRUE(says(lonely.sentences[1], "It was not tested by the 90th")) << lonely.sentences[1];
}

TEST(LengthReport, JudgesTheExponentOnTheOtherHalf) {
  // Every C > 0 looks perfect on one of the halves and useless on the other.
  const lab::SweepRequest request = grid_of("length", {{"C", {0.25, 0.75}}});
  const lab::SweepReport report =
      planted(lab::experiments::length_experiment(), request, [](const lab::experiments::Json& p) {
        lab::experiments::Json rules = lab::experiments::Json::array();
        for (const lab::experiments::Rule& rule : lab::experiments::length_rules(p)) {
          const lab::experiments::Json both = rule.C == 0 ? lab::experiments::Json{0.4, 0.4, 0.4}
                                              : rule.C == 0.25
                                                  ? lab::experiments::Json{0.4, 0.0, 0.8}
                                                  : lab::experiments::Json{0.4, 0.8, 0.0};
          rules.push_back({{"alpha", 1},
                           {"keys", 64},
                           {"tau_mean", both},
                           {"tau_p90", both},
                           {"error_mean", both},
                           {"error_p90", both}});
        }
        return lab::experiments::Json{{"rules", rules}};
      });
  EXPECT_TRUE(says(report.sentences[0], "50.0 % higher")) << report.sentences[0];
}

TEST(AlphaReport, TurnsWithCoverageAndCost) {
  const auto plant_with = [&](std::int64_t conformal, std::int64_t hand, double hand_keys,
                              double replicates = 3) {
    const lab::SweepRequest request = grid_of("alpha", {}, replicates);
    return planted(lab::experiments::alpha_experiment(), request,
                   [=](const lab::experiments::Json& p) {
                     lab::experiments::Json rules = lab::experiments::Json::array();
                     const std::size_t count = lab::experiments::alpha_rule_names(p).size();
                     const std::int64_t noise = p.at("replicate");
                     for (std::size_t r = 0; r < count; ++r) {
                       const bool is_conformal = r < lab::experiments::conformal_rules;
                       const lab::Coverage held_out =
                           lab::coverage((is_conformal ? conformal : hand) + noise, 1000);
                       rules.push_back({{"alpha", 1},
                                        {"C", 0.5},
                                        {"rows", held_out.rows},
                                        {"covered", held_out.covered},
                                        {"low", held_out.low},
                                        {"high", held_out.high},
                                        {"keys", is_conformal ? 100.0 : hand_keys}});
                     }
                     return lab::experiments::Json{{"rules", rules}, {"needed", 50}};
                   });
  };
  const lab::SweepReport good = plant_with(910, 700, 80);
  EXPECT_TRUE(says(good.sentences[0], "new rows held here")) << good.sentences[0];
  EXPECT_TRUE(says(good.sentences[1], "by hand held here")) << good.sentences[1];
  const lab::SweepReport dear = plant_with(910, 950, 300);
  EXPECT_TRUE(says(dear.sentences[1], "by hand held here")) << dear.sentences[1];
  EXPECT_TRUE(says(dear.sentences[1], "up to 3.0 times")) << dear.sentences[1];
  const lab::SweepReport bad = plant_with(700, 950, 80);
  EXPECT_TRUE(says(bad.sentences[0], "new rows did not hold here")) << bad.sentences[0];
  EXPECT_TRUE(says(bad.sentences[1], "by hand did not hold here")) << bad.sentences[1];
  EXPECT_TRUE(says(plant_with(700, 950, 300).sentences[1], "by hand did not hold here"));
  // With 899, 900 or 901 of 1000 covered, nobody can say on which side of 0.9 the coverage of
  // either rule lies.
  const lab::SweepReport about = plant_with(899, 899, 80);
  EXPECT_TRUE(says(about.sentences[0], "new rows was not refuted here")) << about.sentences[0];
  EXPECT_TRUE(says(about.sentences[0], "not to be told from 0.9 in 2")) << about.sentences[0];
  EXPECT_TRUE(says(about.sentences[1], "by hand was not tested here")) << about.sentences[1];
  EXPECT_TRUE(says(about.sentences[1], "18 more pairs cannot be told apart")) << about.sentences[1];
  const lab::SweepReport lonely = plant_with(700, 950, 80, 1);
  EXPECT_TRUE(says(lonely.sentences[0], "new rows was not tested here")) << lonely.sentences[0];
  EXPECT_TRUE(says(lonely.sentences[1], "by hand was not tested here")) << lonely.sentences[1];
}

}  // namespace
}  // namespace tamis
