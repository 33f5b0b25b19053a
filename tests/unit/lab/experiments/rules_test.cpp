// The sweeps `window`, `length` and `alpha`, which compare rules: heads as rows, and small grids
// end to end.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include <tamis/error.h>
#include <tamis/lab/sweep.h>

#include "lab/experiments/alpha/alpha.h"
#include "lab/experiments/head_rows.h"

namespace tamis {
namespace {

const std::string data_trace = std::string(TAMIS_DATA_DIR) + "/smollm2-kjv-8k-small.safetensors";

TEST(SweepRows, ATracesHeadHasTheReferencesOutput) {
  const lab::experiments::SweepTrace trace{"small", "0", lab::Trace(data_trace)};
  const lab::experiments::HeadRows rows =
      lab::experiments::trace_rows({{"layer", 12}, {"head", 2}}, trace);
  const lab::TraceLayer& layer = trace.trace.layers()[1];
  ASSERT_EQ(layer.layer, 12);
  const lab::LayerData data = trace.trace.read(layer);
  Shape shape = layer.shape;
  const PageTables pages = data.pages();
  // One query, all heads.
  const std::int64_t query = 100;
  std::vector<float> q;
  for (std::int64_t h = 0; h < shape.query_heads; ++h) {
    const auto from = data.q.begin() + (h * shape.queries + query) * shape.head_dim;
    q.insert(q.end(), from, from + shape.head_dim);
  }
  shape.queries = 1;
  std::vector<double> out(static_cast<std::size_t>(shape.query_heads * shape.value_dim));
  std::vector<double> lse(static_cast<std::size_t>(shape.query_heads));
  const std::vector<std::int64_t> seen{trace.trace.seen()[static_cast<std::size_t>(query)]};
  reference(shape, {q.data(), shape.query_heads, shape.head_dim}, pages.heads(), seen,
            {out.data(), shape.query_heads, shape.value_dim}, lse);
  const std::vector<double> logits = rows.logits(query);
  ASSERT_EQ(static_cast<std::int64_t>(logits.size()), seen.front());
  const double top = *std::ranges::max_element(logits);
  double sum = 0;
  for (const double s : logits) sum += std::exp(s - top);
  EXPECT_NEAR(top + std::log(sum), lse[2], 1e-9);
  const auto dim = static_cast<std::size_t>(shape.value_dim);
  for (std::size_t c = 0; c < dim; ++c) {
    double x = 0;
    for (std::size_t j = 0; j < logits.size(); ++j)
      x += std::exp(logits[j] - lse[2]) * static_cast<double>(rows.v[j * dim + c]);
    EXPECT_NEAR(x, out[2 * dim + c], 1e-9);
  }
}

TEST(SweepRows, SyntheticRowsHaveTheSpreadOfTheirR) {
  // Logits have standard deviation R/3 over queries and keys; 64 queries leave about 3
  // % of chance.
  const lab::experiments::Regime grows = lab::experiments::root_times(3);
  const lab::experiments::HeadRows rows =
      lab::experiments::synthetic_rows(grows, std::vector<std::int64_t>(64, 2000), 5);
  double squares = 0;
  for (std::int64_t i = 0; i < 64; ++i)
    for (const double s : rows.logits(i)) squares += s * s;
  EXPECT_NEAR(std::sqrt(squares / (64 * 2000)) / (grows.at(2000) / 3), 1, 0.1);
  for (const std::int64_t n : lab::experiments::log_uniform(200, 16, 64, 3)) {
    EXPECT_GE(n, 16);
    EXPECT_LE(n, 64);
  }
}

lab::SweepRequest small(const std::string& name) {
  lab::SweepRequest request;
  request.name = name;
  request.trace = data_trace;
  request.seed = 7;
  if (name == "window")
    request.axes = {{"n", {64, 128, 256}}, {"queries", {8}}, {"replicates", {2}}};
  if (name == "length")
    request.axes = {{"n_low", {64}}, {"n_high", {512}}, {"rows", {24}}, {"replicates", {2}}};
  if (name == "alpha")
    request.axes = {{"n_high", {512}}, {"rows", {12}}, {"held_out", {20}}, {"replicates", {2}}};
  return request;
}

class RuleSweeps : public ::testing::TestWithParam<const char*> {};
INSTANTIATE_TEST_SUITE_P(All, RuleSweeps, ::testing::Values("window", "length", "alpha"));

TEST_P(RuleSweeps, RunFromEndToEndWithTheSameBitsForAnyThreads) {
  const lab::Sweep sweep(small(GetParam()));
  std::vector<std::optional<std::string>> results(sweep.points().size());
  bool head_done = false;
  for (std::size_t i = 0; i < results.size(); ++i) {
    const bool head = sweep.points()[i].parameters.find("\"trace\"") != std::string::npos;
    if (head && head_done && std::string(GetParam()) != "alpha")
      continue;  // one head suffices for the slow ones
    results[i] = sweep.compute(i, 1);
    EXPECT_EQ(*results[i], sweep.compute(i, 2));
    head_done = head_done || head;
  }
  const lab::SweepReport report = sweep.report(results);
  EXPECT_EQ(report.sentences.size(), 2U);
  ASSERT_GT(report.table.size(), 2U);
  for (const auto& row : report.table) EXPECT_EQ(row.size(), report.table.front().size());
  const auto chart = nlohmann::json::parse(report.vega);
  EXPECT_FALSE(chart.at("data").at("values").empty());
}

TEST_P(RuleSweeps, ReportWithoutResultsSaysThatNothingWasTested) {
  lab::SweepRequest request = small(GetParam());
  request.trace.reset();
  const lab::Sweep sweep(request);
  const lab::SweepReport report =
      sweep.report(std::vector<std::optional<std::string>>(sweep.points().size()));
  EXPECT_EQ(report.table.size(), 1U);
  ASSERT_EQ(report.sentences.size(), 2U);
  EXPECT_NE(report.sentences[0].find("was not tested"), std::string::npos) << report.sentences[0];
}

TEST_P(RuleSweeps, AResultOfAnotherKindIsRefused) {
  lab::SweepRequest request = small(GetParam());
  request.trace.reset();
  const lab::Sweep sweep(request);
  std::vector<std::optional<std::string>> results(sweep.points().size());
  for (const char* other :
       {R"({"d": 3})", R"({"bins": [], "rules": []})", R"({"bins": 1, "rules": 1})"}) {
    results[0] = other;
    try {
      (void)sweep.report(results);
      FAIL() << other;
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), Code::input) << error.what();
    }
  }
}

TEST(AlphaSweep, CountsCoverageAndKeysAsThePlainRuleSays) {
  // The rule 4·√n on the longer half of a head's rows, computed from row figures alone.
  lab::SweepRequest request = small("alpha");
  request.axes.push_back({"alpha", {4}});
  const lab::Sweep sweep(request);
  const lab::experiments::SweepTrace trace{"small", "0", lab::Trace(data_trace)};
  for (std::size_t i = 0; i < sweep.points().size(); ++i) {
    const lab::experiments::Json p = lab::experiments::Json::parse(sweep.points()[i].parameters);
    if (p.at("part") != "trace" || p.at("test") != "longer") continue;
    const lab::experiments::Json rule = lab::experiments::Json::parse(sweep.compute(i, 1))
                                            .at("rules")
                                            .at(lab::experiments::conformal_rules);
    const lab::experiments::HeadRows rows = lab::experiments::trace_rows(p, trace);
    const std::vector<double> k_eps = rows.k_eps(0.05, 1);
    std::vector<double> n = rows.lengths();
    std::ranges::sort(n);
    const double shortest = n[n.size() / 2];
    std::int64_t covered = 0;
    double keys = 0;
    for (std::size_t row = 0; row < k_eps.size(); ++row) {
      const auto length = static_cast<double>(rows.seen[row]);
      if (length < shortest) continue;
      covered += std::ceil(4 * std::sqrt(length)) >= k_eps[row] ? 1 : 0;
      keys += std::ceil(4 * std::sqrt(length));
    }
    EXPECT_EQ(rule.at("rows").get<std::size_t>(), n.size() - n.size() / 2);
    EXPECT_EQ(rule.at("covered"), covered);
    EXPECT_EQ(rule.at("keys"), keys / static_cast<double>(n.size() - n.size() / 2));
    return;
  }
  FAIL() << "no head of the trace was judged on longer rows";
}

TEST(AlphaSweep, ARuleWithTooFewRowsToCalibrateReadsEverything) {
  lab::SweepRequest request = small("alpha");
  request.trace.reset();
  request.axes = {{"n_high", {512}}, {"rows", {5}}, {"held_out", {10}}, {"replicates", {1}}};
  const lab::Sweep sweep(request);
  const lab::experiments::Json rule =
      lab::experiments::Json::parse(sweep.compute(0, 1)).at("rules").at(0);
  EXPECT_TRUE(rule.at("alpha").is_null());
  EXPECT_EQ(rule.at("covered"), rule.at("rows"));
}

TEST(RuleSweepsGrid, RefusesLengthsInTheWrongOrder) {
  for (const char* name : {"length", "alpha"}) {
    lab::SweepRequest request;
    request.name = name;
    request.axes = {{"n_low", {512}}, {"n_high", {64}}};
    try {
      const lab::Sweep sweep(request);
      FAIL();
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), Code::usage);
      EXPECT_TRUE(std::string(error.what()).find("n_low = 512 and n_high = 64") !=
                  std::string::npos)
          << error.what();
    }
  }
}

}  // namespace
}  // namespace tamis
