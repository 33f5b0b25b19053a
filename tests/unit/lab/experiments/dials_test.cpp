// The sweeps norm, violation and collapse: what their points measure, that reports follow the
// numbers in both directions, and the statistics they rest on.
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <cmath>
#include <filesystem>
#include <functional>
#include <nlohmann/json.hpp>
#include <random>

#include <tamis/lab/law.h>
#include <tamis/lab/sweep.h>

#include "lab/experiments/regime.h"
#include "lab/experiments/replicates.h"
#include "lab/experiments/synthetic_figures.h"
#include "support/io_files.h"

namespace tamis {
namespace {

using Results = std::vector<std::optional<std::string>>;

const std::string data_trace = std::string(TAMIS_DATA_DIR) + "/smollm2-kjv-8k-small.safetensors";

lab::SweepRequest request_of(const std::string& name, std::vector<lab::AxisValues> axes = {}) {
  lab::SweepRequest request;
  request.name = name;
  request.axes = std::move(axes);
  return request;
}

/// Settings small enough for a test.
lab::SweepRequest small(const std::string& name) {
  lab::SweepRequest request =
      request_of(name, {{"n", {64, 256}}, {"d", {8}}, {"queries", {4}}, {"replicates", {2}}});
  if (name == "violation")
    request.axes.push_back({"value", {0.5, 1}});
  else
    request.axes.push_back({"R", {2, 8}});
  return request;
}

Results computed(const lab::Sweep& sweep, int threads) {
  Results results;
  for (std::size_t i = 0; i < sweep.points().size(); ++i)
    results.emplace_back(sweep.compute(i, threads));
  return results;
}

/// Results made up by a test from the parameters of each point.
Results planted(
    const lab::Sweep& sweep,
    const std::function<lab::experiments::Json(const lab::experiments::Json&)>& result) {
  Results results;
  for (const lab::SweepPoint& point : sweep.points())
    results.emplace_back(result(lab::experiments::Json::parse(point.parameters)).dump());
  return results;
}

void expect_complete(const lab::SweepReport& report) {
  EXPECT_EQ(report.sentences.size(), 2U);
  for (const std::string& sentence : report.sentences) {
    EXPECT_EQ(sentence.back(), '.');
    EXPECT_EQ(sentence.find("nan"), std::string::npos) << sentence;
    EXPECT_EQ(sentence.find("inf "), std::string::npos) << sentence;
  }
  for (const auto& row : report.table) EXPECT_EQ(row.size(), report.table.front().size());
  const lab::experiments::Json chart = lab::experiments::Json::parse(report.vega);
  EXPECT_TRUE(chart.contains("concat") || chart.contains("vconcat"));
}

void expect_says(const std::string& sentence, const std::string& words) {
  EXPECT_NE(sentence.find(words), std::string::npos) << sentence << "\nlacks: " << words;
}

/// A trace whose two heads have weights and an input bound.
std::string trace_with_weights(const test::Folder& folder) {
  constexpr std::int64_t d = 4;
  constexpr std::int64_t hidden = 6;
  constexpr std::int64_t tokens = 256;
  constexpr std::int64_t queries = 32;
  std::mt19937_64 random(7);
  std::normal_distribution<float> normal;
  const auto drawn = [&](std::int64_t count) {
    std::vector<float> x(static_cast<std::size_t>(count));
    for (float& v : x) v = normal(random);
    return x;
  };
  std::vector<std::int64_t> positions;
  for (std::int64_t i = 0; i < queries; ++i) positions.push_back((i + 1) * tokens / queries - 1);
  const auto q = drawn(2 * queries * d);
  const auto k = drawn(tokens * d);
  const auto w_q = drawn(2 * hidden * d);
  const auto w_k = drawn(hidden * d);
  const std::vector<float> bound{0.5F};
  const std::vector<lab::TensorRef> tensors{
      {{"positions", DType::i64, {queries}}, positions.data()},
      {{"layers.0.q", DType::f32, {2, queries, d}}, q.data()},
      {{"layers.0.k", DType::f32, {1, tokens, d}}, k.data()},
      {{"layers.0.v", DType::f32, {1, tokens, d}}, k.data()},
      {{"layers.0.w_q", DType::f32, {2, hidden, d}}, w_q.data()},
      {{"layers.0.w_k", DType::f32, {1, hidden, d}}, w_k.data()},
      {{"layers.0.input_bound", DType::f32, {1}}, bound.data()}};
  const std::string path = folder / "weights.safetensors";
  lab::write_safetensors(path, tensors, lab::Metadata{{"scale", "0.5"}, {"causal", "true"}});
  return path;
}

TEST(Replicates, IntervalOfAMeanIsStudents) {
  const lab::stats::Estimate e = lab::stats::mean_estimate(std::vector<double>{1, 2, 3});
  EXPECT_DOUBLE_EQ(e.value, 2);
  // t(0.975, 2) = 4.302653, and the standard error is 1/√3.
  EXPECT_NEAR(e.high - 2, 4.302653 / std::sqrt(3.0), 1e-5);
  EXPECT_NEAR(2 - e.low, 4.302653 / std::sqrt(3.0), 1e-5);
  EXPECT_TRUE(e.known);
  EXPECT_FALSE(lab::stats::mean_estimate(std::vector<double>{1}).known);
}

TEST(Replicates, RankCorrelationSeesOrderAndSharesTies) {
  const std::vector<double> x{1, 2, 3, 4, 5};
  EXPECT_DOUBLE_EQ(lab::stats::rank_correlation(x, std::vector<double>{1, 10, 11, 300, 4000}).value,
                   1);
  EXPECT_DOUBLE_EQ(lab::stats::rank_correlation(x, std::vector<double>{5, 4, 3, 2, 1}).value, -1);
  EXPECT_DOUBLE_EQ(lab::stats::rank_correlation(x, std::vector<double>{7, 7, 7, 7, 7}).value, 0);
  // Ranks 0.5, 0.5, 2, 3.5, 3.5 have covariance 9 and variances 10 and 9.
  EXPECT_NEAR(lab::stats::rank_correlation(x, std::vector<double>{1, 1, 2, 3, 3}).value,
              9 / std::sqrt(90.0), 1e-12);
  EXPECT_FALSE(
      lab::stats::rank_correlation(std::vector<double>{1, 2}, std::vector<double>{1, 2}).known);
}

RC_GTEST_PROP(Replicates, RankCorrelationAsksForOrderAlone, ()) {
  const auto pairs = *rc::gen::container<std::vector<std::pair<int, int>>>(
      rc::gen::pair(rc::gen::inRange(-5, 6), rc::gen::inRange(-5, 6)));
  RC_PRE(pairs.size() >= 5);
  std::vector<double> x;
  std::vector<double> y;
  std::vector<double> bent;
  std::vector<double> turned;
  for (const auto& [a, b] : pairs) {
    x.push_back(a);
    y.push_back(b);
    bent.push_back(std::exp(a));
    turned.push_back(-a);
  }
  const lab::stats::Estimate e = lab::stats::rank_correlation(x, y);
  RC_ASSERT(e.low <= e.value && e.value <= e.high && e.low >= -1 && e.high <= 1);
  RC_ASSERT(lab::stats::rank_correlation(bent, y).value == e.value);
  RC_ASSERT(lab::stats::rank_correlation(y, x).value == e.value);
  RC_ASSERT(std::abs(lab::stats::rank_correlation(turned, y).value + e.value) < 1e-12);
}

TEST(Replicates, AnExponentIsTheSlopeOfEveryReplicate) {
  lab::experiments::Growth growth;
  EXPECT_FALSE(growth.exponent());
  for (const double n : {100.0, 1000.0, 10000.0}) {
    growth.add(0, n, 0.5 * std::log(n) + 1);
    growth.add(1, n, 0.7 * std::log(n) - 3);
  }
  const lab::stats::Estimate C = growth.exponent().value();
  EXPECT_NEAR(C.value, 0.6, 1e-12);
  EXPECT_TRUE(C.contains(0.6));
}

TEST(Replicates, SeedsDiffer) {
  EXPECT_NE(lab::experiments::replicate_seed(0, 0), lab::experiments::replicate_seed(0, 1));
  EXPECT_NE(lab::experiments::replicate_seed(0, 0), lab::experiments::replicate_seed(1, 0));
  EXPECT_LT(lab::experiments::replicate_seed(9, 3), std::uint64_t{1} << 53);
}

TEST(RowTheory, IsWhatRowsNeedWhenTheAssumptionsHold) {
  const lab::GaussianNull null(0.01);
  lab::experiments::Synthetic s;
  s.n = 1024;
  s.queries = 200;
  s.d = 256;
  s.value_dim = 1;
  s.R = 6;
  const ProgressCallback none;
  const lab::RowFigures rows = lab::experiments::synthetic_figures(s, 0.01, {nullptr, 1, none});
  const lab::experiments::RowTheory theory = lab::experiments::row_theory(null, 1024, 6, 256);
  double mean = 0;
  for (const std::int64_t k : rows.k_eps) mean += std::log(static_cast<double>(k)) / 200;
  EXPECT_NEAR(mean, theory.mean,
              0.03 + 5 * theory.sd / std::sqrt(200.0));  // 0.03 is the accuracy of the null
  EXPECT_NEAR(lab::experiments::spread_of(rows), 2,
              2 * 5 * std::sqrt(0.7 / 256 / 200) + 2 * 5 / std::sqrt(2 * 1024.0));
}

TEST(RowTheory, QueriesOfOneSpreadLeaveTheNull) {
  const lab::GaussianNull null(0.05);
  const lab::experiments::RowTheory theory = lab::experiments::row_theory(null, 500, 9, 1e12);
  EXPECT_NEAR(theory.mean, null.at(500, 3).log_mean, 1e-4);
  EXPECT_NEAR(theory.sd, null.at(500, 3).log_sd, 1e-4);
  EXPECT_GT(lab::experiments::row_theory(null, 500, 9, 16).sd, theory.sd);
}

TEST(Dials, PointsHaveTheSameBitsForAnyNumberOfThreads) {
  for (const char* name : {"norm", "violation", "collapse"}) {
    const lab::Sweep sweep(small(name));
    EXPECT_EQ(computed(sweep, 1), computed(sweep, 2)) << name;
  }
}

TEST(Dials, TracePointsHaveTheSameBitsForAnyNumberOfThreads) {
  const test::Folder folder;
  for (const char* name : {"norm", "collapse"}) {
    lab::SweepRequest request = small(name);
    request.trace = trace_with_weights(folder);
    const lab::Sweep sweep(request);
    const std::size_t last = sweep.points().size() - 1;
    EXPECT_EQ(lab::experiments::Json::parse(sweep.points()[last].parameters).at("part"), "trace");
    EXPECT_EQ(sweep.compute(last, 1), sweep.compute(last, 2));
  }
}

TEST(Dials, SmallGridsRunToAReport) {
  for (const char* name : {"norm", "violation", "collapse"}) {
    SCOPED_TRACE(name);
    const lab::Sweep sweep(small(name));
    Results results = computed(sweep, 1);
    expect_complete(sweep.report(results));
    for (std::size_t i = 0; i < results.size(); i += 2) results[i].reset();
    expect_complete(sweep.report(results));
    const lab::SweepReport empty = sweep.report(Results(results.size()));
    EXPECT_EQ(empty.sentences.size(), 2U);
    EXPECT_EQ(empty.table.size(), 1U);
  }
}

TEST(Dials, OneLengthAndOneReplicateLeaveTheQuestionOpen) {
  for (const char* name : {"norm", "violation", "collapse"}) {
    SCOPED_TRACE(name);
    lab::SweepRequest request = small(name);
    request.axes[0].values = {64};
    request.axes[3].values = {1};
    const lab::Sweep sweep(request);
    const lab::SweepReport report = sweep.report(computed(sweep, 1));
    expect_complete(report);
    expect_says(report.sentences[0], "cannot be told yet");
    if (name == std::string("violation")) {
      expect_says(report.sentences[1], "was not tested");
      for (std::size_t row = 1; row < report.table.size(); ++row)
        EXPECT_EQ(report.table[row].back(), "not tested");
    }
  }
}

TEST(Dials, ReplicatesDifferAndSettingsShareTheirSeeds) {
  const lab::Sweep sweep(small("norm"));
  const lab::experiments::Json a = lab::experiments::Json::parse(sweep.points()[0].parameters);
  const lab::experiments::Json b = lab::experiments::Json::parse(sweep.points()[1].parameters);
  const lab::experiments::Json c = lab::experiments::Json::parse(sweep.points()[2].parameters);
  EXPECT_NE(a.at("seed"), b.at("seed"));
  EXPECT_EQ(a.at("seed"), c.at("seed"));
  EXPECT_NE(sweep.compute(0, 1), sweep.compute(1, 1));
}

TEST(Regimes, AreReadAsTheyWereWritten) {
  for (const lab::experiments::Regime& regime :
       {lab::experiments::fixed_at(6), lab::experiments::root_times(3),
        lab::experiments::at_1024(lab::experiments::Rise::fixed, 2),
        lab::experiments::at_1024(lab::experiments::Rise::root, 2),
        lab::experiments::at_1024(lab::experiments::Rise::log, 2)}) {
    lab::experiments::Json parameters = lab::experiments::Json::object();
    regime.write(parameters);
    EXPECT_EQ(lab::experiments::Regime::read(parameters), regime) << parameters;
  }
  EXPECT_THROW((void)lab::experiments::Regime::read({{"regime", "cube"}, {"R", 2}}), Error);
  EXPECT_DOUBLE_EQ(lab::experiments::root_times(3).at(2000), 3 * std::sqrt(std::log(2000)));
  for (const lab::experiments::RiseName& rise : lab::experiments::rises()) {
    EXPECT_DOUBLE_EQ(lab::experiments::at_1024(rise.rise, 5).at(1024), 5);
    EXPECT_EQ(lab::experiments::named(rise.rise).name, rise.name);
  }
  EXPECT_EQ(lab::experiments::root_times(3).name(), "R = 3·√log n");
  EXPECT_EQ(lab::experiments::at_1024(lab::experiments::Rise::log, 3).name(),
            "R grows as log n, 3 at n = 1024");
}

TEST(TracePoints, AreTheSameUnderAnyNameOfTheFile) {
  const test::Folder folder;
  const std::string path = trace_with_weights(folder);
  const std::string renamed = folder / "not\xffutf8.safetensors";
  std::filesystem::copy_file(path, renamed);
  for (const char* name : {"window", "length", "alpha", "norm", "collapse"}) {
    SCOPED_TRACE(name);
    lab::SweepRequest request = request_of(name);
    request.trace = path;
    const lab::Sweep one(request);
    request.trace = renamed;
    const lab::Sweep other(request);
    ASSERT_EQ(one.points().size(), other.points().size());
    for (std::size_t i = 0; i < one.points().size(); ++i)
      ASSERT_EQ(one.points()[i].parameters, other.points()[i].parameters);
  }
}

TEST(TracePoints, AreToldByAPrintableName) {
  const test::Folder folder;
  const std::string renamed = folder / "not\xffutf8.safetensors";
  std::filesystem::rename(trace_with_weights(folder), renamed);
  for (const char* name : {"window", "length", "alpha", "norm"}) {
    SCOPED_TRACE(name);
    lab::SweepRequest request = request_of(name);
    request.trace = renamed;
    const lab::Sweep sweep(request);
    Results results(sweep.points().size());
    results.back() = sweep.compute(results.size() - 1, 1);
    const lab::SweepReport report = sweep.report(results);
    std::string all = report.sentences[0] + report.sentences[1];
    for (const auto& row : report.table) all += row[0];
    expect_says(all, "not\\xffutf8.safetensors");
  }
}

TEST(Dials, AResultOfSomethingElseIsRefused) {
  const lab::Sweep sweep(small("norm"));
  Results results(sweep.points().size());
  results[0] = R"({"d": 3})";
  EXPECT_THROW((void)sweep.report(results), Error);
}

/// A point where every query has k = n^C, with the spread that R gives.
lab::experiments::Json power_point(const lab::experiments::Json& p, double C) {
  const auto k = std::round(std::pow(p.at("n").get<double>(), C));
  return {{"k", {k, k}}, {"spread", p.at("R").get<double>() / 3}};
}

TEST(NormReport, FollowsTheExponentsBothWays) {
  const lab::Sweep sweep(
      request_of("norm", {{"R", {2, 8}}, {"n", {256, 4096}}, {"replicates", {2}}}));
  const auto sentence = [&](double C_small, double C_large) {
    return sweep
        .report(planted(sweep,
                        [&](const lab::experiments::Json& p) {
                          return power_point(p, p.at("R").get<double>() < 5 ? C_small : C_large);
                        }))
        .sentences[0];
  };
  expect_says(sentence(0.75, 0.5), " held on synthetic heads: C was 0.50 to 0.75");
  expect_says(sentence(0.75, 0.5), "in 2 of 2 settings, in 0 of these above 0.95");
  expect_says(sentence(0, 0), "did not hold");
  expect_says(sentence(1, 1), "did not hold");
  expect_says(sentence(1, 0.5), "held in part");
  EXPECT_EQ(sentence(0, 0).find(" held on"), std::string::npos);
}

TEST(NormReport, HeadsOfATraceAreJudgedByTheirR) {
  const test::Folder folder;
  lab::SweepRequest request = request_of("norm", {{"R", {2}}, {"n", {64}}, {"replicates", {1}}});
  request.trace = trace_with_weights(folder);
  const lab::Sweep sweep(request);
  const std::size_t last = sweep.points().size() - 1;
  const lab::experiments::Json heads =
      lab::experiments::Json::parse(sweep.compute(last, 1)).at("heads");
  ASSERT_EQ(heads.size(), 2U);
  for (const lab::experiments::Json& head : heads) EXPECT_GT(head.at("R").get<double>(), 0);

  const auto sentence = [&](bool falls, bool has_R) {
    Results results(sweep.points().size());
    lab::experiments::Json made = lab::experiments::Json::array();
    for (int h = 0; h < 8; ++h) {
      lab::experiments::Json head = heads[0];
      head["head"] = h;
      head["R"] = has_R ? lab::experiments::Json(1.0 + h) : lab::experiments::Json(nullptr);
      head["spread"] = 1.0 + h;
      head["share"] = falls ? 1.0 / (1 + h) : 0.1 * (1 + h);
      made.push_back(std::move(head));
    }
    results[last] = lab::experiments::Json{{"heads", std::move(made)}}.dump();
    const lab::SweepReport report = sweep.report(results);
    EXPECT_EQ(report.table.size(), 9U);
    return report.sentences[1];
  };
  expect_says(sentence(true, true), "heads of larger norm were sparser");
  expect_says(sentence(false, true), "heads of larger norm were denser");
  expect_says(sentence(true, true), " R had rank correlation -1 [-1, -1]");
  expect_says(sentence(true, false), "for want of weights");
  // A head may have R and yet no prediction.
  lab::experiments::Json silent = heads[0];
  silent["predicted"] = nullptr;
  silent["predicted_C"] = nullptr;
  Results results(sweep.points().size());
  results[last] = lab::experiments::Json{{"heads", lab::experiments::Json::array({silent})}}.dump();
  expect_says(sweep.report(results).sentences[1], "it predicts nothing here");
}

TEST(ViolationReport, FindsWhereThePredictionFirstFails) {
  const double R = 9;
  const lab::Sweep sweep(
      request_of("violation",
                 {{"value", {0.25, 0.5, 1}}, {"n", {256, 4096}}, {"R", {R}}, {"replicates", {2}}}));
  const lab::GaussianNull null(0.01);
  // Rows exactly as predicted, except that one dial, from one value on, multiplies k by a factor.
  const auto report = [&](const std::string& dial, double from, double factor) {
    return sweep.report(planted(sweep, [&](const lab::experiments::Json& p) {
      double k = std::exp(lab::experiments::row_theory(null, p.at("n"), R, 64).mean);
      if (p.at("dial") == dial && p.at("value") >= from) k *= factor;
      k = std::max(1.0, std::round(k));
      return lab::experiments::Json{{"k", {k, k}}, {"spread", R / 3}};
    }));
  };
  const lab::SweepReport holds = report("copies", 2, 1);
  expect_says(holds.sentences[0], "the prediction from R held");
  expect_says(holds.sentences[1], "on 0 of 4 dials");
  expect_says(holds.sentences[1], "copies nowhere; common nowhere; tails nowhere; sinks nowhere");
  const lab::SweepReport more = report("tails", 0.5, 20);
  expect_says(more.sentences[0], "the prediction from R held");
  expect_says(more.sentences[1], "on 1 of 4 dials, by more keys than predicted on 1");
  expect_says(more.sentences[1], "tails k above at 0.5; sinks nowhere");
  const lab::SweepReport fewer = report("sinks", 1, 0.01);
  expect_says(fewer.sentences[1], "by more keys than predicted on 0");
  expect_says(fewer.sentences[1], "k below at 1");
  expect_says(report("none", 0, 20).sentences[0], "the prediction from R did not hold");
}

TEST(ViolationReport, AnExponentThatTurnsIsSeenThoughTheLongestRowsFit) {
  const lab::Sweep sweep(request_of(
      "violation", {{"value", {0.5}}, {"n", {256, 4096}}, {"R", {9}}, {"replicates", {2}}}));
  const lab::GaussianNull null(0.01);
  const lab::SweepReport report = sweep.report(planted(sweep, [&](const lab::experiments::Json& p) {
    const double n = p.at("dial") == "common" ? 4096 : p.at("n").get<double>();
    const double k = std::min(p.at("n").get<double>(),
                              std::exp(lab::experiments::row_theory(null, n, 9, 64).mean));
    return lab::experiments::Json{{"k", {k, k}}, {"spread", 3}};
  }));
  expect_says(report.sentences[1], "common C below at 0.5; tails nowhere");
}

TEST(CollapseReport, SaysInWhichSense) {
  const lab::Sweep sweep(
      request_of("collapse", {{"R", {3}}, {"n", {256, 4096}}, {"replicates", {2}}}));
  const auto sentence = [&](double top1, double support, double first) {
    return sweep
        .report(planted(sweep,
                        [&](const lab::experiments::Json& p) {
                          const double n = p.at("n");
                          return lab::experiments::Json{{"top1", 0.01 * std::pow(n, top1)},
                                                        {"support", 5 * std::pow(n, support)},
                                                        {"first", 0.001 * std::pow(n, first)}};
                        }))
        .sentences[0];
  };
  expect_says(sentence(0.2, -0.1, 0.3), "collapsed in every sense");
  expect_says(sentence(-0.2, 0.5, -1), "collapsed in no sense");
  expect_says(sentence(0.2, 0.5, -1), "collapsed in part");
  expect_says(sentence(0.2, 0.5, -1), "R fixed 1 of 1, 0 of 1, 0 of 1");
}

TEST(CollapseReport, LayersOfTheShippedTraceAreToldByTheirRows) {
  lab::SweepRequest request = small("collapse");
  request.trace = data_trace;
  const lab::Sweep sweep(request);
  Results results(sweep.points().size());
  const std::size_t last = results.size() - 1;
  results[last] = sweep.compute(last, 1);
  const lab::experiments::Json result = lab::experiments::Json::parse(*results[last]);
  EXPECT_EQ(result.at("heads"), 3);
  EXPECT_EQ(result.at("bins").size(), 8U);
  const lab::SweepReport report = sweep.report(results);
  expect_complete(report);
  EXPECT_EQ(report.table.size(), 4U);
  expect_says(report.sentences[1], "smollm2-kjv-8k-small.safetensors");
}

}  // namespace
}  // namespace tamis
