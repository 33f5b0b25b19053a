// Whole profiles: of the shipped trace and of small ones, their files, and comparisons of two.
#include <gtest/gtest.h>

#include <cmath>
#include <nlohmann/json.hpp>
#include <random>

#include <tamis/lab/profile.h>

#include "lab/profile/profile_file.h"
#include "lab/stats/quantiles.h"
#include "support/io_files.h"

namespace tamis {
namespace {

using Json = nlohmann::ordered_json;

const std::string data_trace = std::string(TAMIS_DATA_DIR) + "/smollm2-kjv-8k-small.safetensors";

/// The profile of layer 12 of the shipped trace, computed once.
const lab::Profile& shipped() {
  static const lab::Profile made = [] {
    lab::ProfileOptions options;
    options.layers = {12};
    options.law.resamples = 99;
    Workspace workspace(1);
    return lab::profile(lab::Trace(data_trace), options, workspace);
  }();
  return made;
}

/// A trace of one layer with queries at `positions`, 2 query heads on 1 KV head, and 4 dimensions.
std::string small_trace(const test::Folder& folder, const std::vector<std::int64_t>& positions,
                        std::int64_t tokens, bool weights = false, bool causal = true) {
  constexpr std::int64_t d = 4;
  constexpr std::int64_t hidden = 6;
  std::mt19937_64 random(7);
  std::normal_distribution<float> normal;
  const auto drawn = [&](std::int64_t count) {
    std::vector<float> x(static_cast<std::size_t>(count));
    for (float& v : x) v = 2 * normal(random);
    return x;
  };
  const auto queries = static_cast<std::int64_t>(positions.size());
  const std::vector<float> q = drawn(2 * queries * d);
  const std::vector<float> k = drawn(tokens * d);
  const std::vector<float> w_q = drawn(2 * hidden * d);
  const std::vector<float> w_k = drawn(hidden * d);
  const std::vector<float> bound{0.5F};
  std::vector<lab::TensorRef> tensors{
      {{"positions", DType::i64, {queries}}, positions.data()},
      {{"layers.0.q", DType::f32, {2, queries, d}}, q.data()},
      {{"layers.0.k", DType::f32, {1, tokens, d}}, k.data()},
      {{"layers.0.v", DType::f32, {1, tokens, d}}, k.data()},
  };
  if (weights) {
    tensors.push_back({{"layers.0.w_q", DType::f32, {2, hidden, d}}, w_q.data()});
    tensors.push_back({{"layers.0.w_k", DType::f32, {1, hidden, d}}, w_k.data()});
    tensors.push_back({{"layers.0.input_bound", DType::f32, {1}}, bound.data()});
  }
  const std::string path = folder / "trace.safetensors";
  lab::Metadata metadata{
      {"scale", "0.5"}, {"causal", causal ? "true" : "false"}, {"model", "made"}};
  if (!causal) metadata.insert({{"rope_theta", "100"}, {"rope_dims", "4"}, {"rope_style", "half"}});
  lab::write_safetensors(path, tensors, metadata);
  return path;
}

std::vector<std::int64_t> evenly(std::int64_t count, std::int64_t tokens) {
  std::vector<std::int64_t> positions;
  for (std::int64_t i = 0; i < count; ++i) positions.push_back((i + 1) * tokens / count - 1);
  return positions;
}

TEST(Profile, FiguresOfHeadsAreThoseOfTheirRows) {
  lab::ProfileOptions options;
  options.layers = {12};
  options.law.resamples = 99;
  Workspace workspace(1);
  lab::RowFigures rows;
  const lab::Profile made =
      lab::profile(lab::Trace(data_trace), options, workspace, {},
                   [&](const lab::TraceLayer&, const lab::RowFigures& figures) { rows = figures; });
  ASSERT_EQ(made.heads.size(), 3U);
  const std::int64_t queries = made.queries;
  for (std::int64_t h = 0; h < 3; ++h) {
    const lab::HeadProfile& head = made.heads[static_cast<std::size_t>(h)];
    EXPECT_EQ(head.layer, 12);
    EXPECT_EQ(head.head, h);
    EXPECT_EQ(head.rows, queries);
    std::vector<double> support;
    std::vector<double> k;
    for (std::int64_t r = h * queries; r < (h + 1) * queries; ++r) {
      support.push_back(std::exp(rows.entropy[static_cast<std::size_t>(r)]));
      k.push_back(static_cast<double>(rows.k_eps_of(r)[1]));
    }
    EXPECT_EQ(head.effective_support.median, lab::stats::quantiles(support).median);
    EXPECT_EQ(head.by_eps[1].k_eps.p90, lab::stats::quantiles(k).p90);
    const auto first = static_cast<std::size_t>(h * queries);
    EXPECT_EQ(
        rows.null[2 * first + 1],
        lab::GaussianNull(0.05).at(static_cast<double>(rows.n[first]), rows.sigma[first]).median);
    // The bins partition the rows: their counts add up, and lengths ascend.
    std::int64_t binned = 0;
    double before = 0;
    for (const lab::GrowthBin& bin : head.by_eps[0].growth) {
      binned += bin.rows;
      EXPECT_GT(bin.n_low, before);
      EXPECT_LE(bin.n_low, bin.n);
      EXPECT_LE(bin.n, bin.n_high);
      before = bin.n_high;
    }
    EXPECT_EQ(binned, queries);
  }
  std::int64_t collapsed = 0;
  for (const lab::CollapseBin& bin : made.layers.at(0).collapse) collapsed += bin.rows;
  EXPECT_EQ(collapsed, 3 * queries);
}

TEST(Profile, BitsDoNotDependOnThreads) {
  lab::ProfileOptions options;
  options.layers = {12};
  options.law.resamples = 99;
  Workspace workspace(2);
  EXPECT_EQ(lab::profile_text(lab::profile(lab::Trace(data_trace), options, workspace)),
            lab::profile_text(shipped()));
}

TEST(Profile, TheFileReadsBackAsItWasWritten) {
  const test::Folder folder;
  lab::write_profile(folder / "p.json", shipped());
  EXPECT_EQ(folder.entries(), 1U);
  EXPECT_EQ(lab::profile_text(lab::read_profile(folder / "p.json")), lab::profile_text(shipped()));
}

TEST(Profile, AttendReadsTheRuleOfTheFirstEps) {
  const test::Folder folder;
  lab::write_profile(folder / "p.json", shipped());
  const std::vector<lab::HeadBudget> budgets = lab::read_profile_budgets(folder / "p.json");
  ASSERT_EQ(budgets.size(), shipped().heads.size());
  for (std::size_t i = 0; i < budgets.size(); ++i) {
    const lab::HeadProfile& head = shipped().heads[i];
    EXPECT_EQ(budgets[i].layer, head.layer);
    EXPECT_EQ(budgets[i].head, head.head);
    EXPECT_EQ(budgets[i].budget, head.budget);
    EXPECT_EQ(head.budget.kind, Budget::Kind::power);
    EXPECT_EQ(head.budget.alpha, head.by_eps.front().rules.power.alpha);
    EXPECT_EQ(head.budget.exponent, head.by_eps.front().rules.power.C);
  }
}

TEST(Profile, TooFewRowsStillGiveWhatTheyCan) {
  for (const auto& positions : {std::vector<std::int64_t>{0}, {5, 5, 5}, {0, 40, 99}}) {
    const test::Folder folder;
    Workspace workspace(1);
    const lab::Profile made =
        lab::profile(lab::Trace(small_trace(folder, positions, 100)), {}, workspace);
    ASSERT_EQ(made.heads.size(), 2U);
    for (const lab::HeadProfile& head : made.heads) {
      const lab::KEpsProfile& of_eps = head.by_eps.front();
      EXPECT_EQ(head.rows, static_cast<std::int64_t>(positions.size()));
      EXPECT_EQ(of_eps.law.law, lab::Law::none);
      EXPECT_FALSE(of_eps.law.reason.empty());
      EXPECT_GE(of_eps.k_eps.median, 1);
      EXPECT_FALSE(of_eps.rules.power.finite());
      EXPECT_EQ(to_string(head.budget), "mass:0.01");
    }
    lab::write_profile(folder / "p.json", made);
    EXPECT_EQ(lab::profile_text(lab::read_profile(folder / "p.json")), lab::profile_text(made));
    EXPECT_EQ(lab::read_profile_budgets(folder / "p.json").size(), 2U);
  }
}

TEST(Profile, WeightsGiveRAndItsPrediction) {
  const test::Folder folder;
  Workspace workspace(1);
  const lab::Trace trace(small_trace(folder, evenly(60, 300), 300, true));
  const lab::Profile made = lab::profile(trace, {}, workspace);
  const auto norms = lab::weight_norms(trace.read_weights(trace.layers()[0]),
                                       trace.layers()[0].shape, trace.rotary(), trace.tokens());
  for (std::size_t h = 0; h < 2; ++h) {
    const lab::HeadProfile& head = made.heads[h];
    ASSERT_TRUE(head.norm && head.R);
    EXPECT_EQ(head.norm->norm, norms[h].norm);
    EXPECT_DOUBLE_EQ(*head.R, 0.25 * norms[h].norm);
    ASSERT_TRUE(head.by_eps[1].predicted);
    EXPECT_EQ(head.by_eps[1].predicted->k_eps,
              lab::predict_from_norm(0.5, norms[h].norm, head.n.median, 0.05).k_eps);
  }
  lab::write_profile(folder / "p.json", made);
  EXPECT_EQ(lab::profile_text(lab::read_profile(folder / "p.json")), lab::profile_text(made));
  EXPECT_FALSE(shipped().heads[0].norm || shipped().heads[0].R);
}

TEST(Profile, ANonCausalTraceHasNormsOverNegativeOffsetsToo) {
  const test::Folder folder;
  const lab::Trace trace(small_trace(folder, evenly(30, 50), 50, true, false));
  Workspace workspace(1);
  const lab::Profile made = lab::profile(trace, {}, workspace);
  const auto norms =
      lab::weight_norms(trace.read_weights(trace.layers()[0]), trace.layers()[0].shape,
                        trace.rotary(), trace.tokens(), 1, lab::Offsets::all);
  bool negative = false;
  for (std::size_t h = 0; h < 2; ++h) {
    ASSERT_TRUE(made.heads[h].norm);
    EXPECT_EQ(made.heads[h].norm->low, norms[h].low);
    EXPECT_EQ(made.heads[h].norm->high, norms[h].high);
    negative = negative || norms[h].low_offset < 0 || norms[h].high_offset < 0;
  }
  EXPECT_TRUE(negative);
  lab::write_profile(folder / "p.json", made);
  EXPECT_EQ(lab::profile_text(lab::read_profile(folder / "p.json")), lab::profile_text(made));
}

TEST(Profile, OptionsOutOfRangeAreNamed) {
  const lab::Trace trace(data_trace);
  Workspace workspace(1);
  const auto message = [&](const std::function<void(lab::ProfileOptions&)>& change) {
    lab::ProfileOptions options;
    change(options);
    try {
      (void)lab::profile(trace, options, workspace);
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), Code::usage);
      return std::string(error.what());
    }
    return std::string("nothing");
  };
  EXPECT_NE(message([](auto& o) { o.rows.eps = {}; }).find("no eps"), std::string::npos);
  EXPECT_NE(message([](auto& o) { o.rows.eps = {0.1, 0.1}; }).find("twice"), std::string::npos);
  EXPECT_NE(message([](auto& o) { o.delta = 1; }).find("delta is 1"), std::string::npos);
  EXPECT_NE(message([](auto& o) { o.bins = 0; }).find("bins is 0"), std::string::npos);
  EXPECT_NE(message([](auto& o) { o.layers = {4}; }).find("no layer 4"), std::string::npos);
}

TEST(Profile, ProgressCoversAllLayersAndMayCancel) {
  const test::Folder folder;
  const lab::Trace trace(small_trace(folder, evenly(60, 300), 300));
  Workspace workspace(1);
  double last = -1;
  (void)lab::profile(trace, {}, workspace, [&](double done, double total) {
    EXPECT_GE(done, last);
    EXPECT_LE(done, total);
    last = done / total;
    return true;
  });
  EXPECT_EQ(last, 1);
  try {
    (void)lab::profile(trace, {}, workspace, [](double, double) { return false; });
    FAIL() << "not cancelled";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), Code::cancelled);
  }
}

TEST(Profile, ComparisonFindsWhatDiffers) {
  lab::Profile other = shipped();
  lab::KEpsProfile& of_eps = other.heads[1].by_eps.front();
  of_eps.k_eps.median *= 3;
  of_eps.law.law = lab::Law::linear;
  of_eps.law.C_low = shipped().heads[1].by_eps.front().law.C_high + 0.1;
  of_eps.law.C_high = of_eps.law.C_low + 0.1;
  const auto differences = lab::compare_profiles(shipped(), other);
  ASSERT_EQ(differences.size(), 3U);
  EXPECT_EQ(differences[0].k_ratio, 1);
  EXPECT_FALSE(differences[0].law_differs || differences[0].exponents_apart);
  EXPECT_EQ(differences[1].k_ratio, 3);
  EXPECT_TRUE(differences[1].law_differs && differences[1].exponents_apart);

  lab::Profile fewer = shipped();
  fewer.heads.pop_back();
  EXPECT_THROW((void)lab::compare_profiles(shipped(), fewer), Error);
  EXPECT_EQ(lab::compare_profiles(fewer, shipped()).size(), 2U);
  lab::Profile rounder = shipped();
  rounder.options.rows.eps[0] = 0.02;
  EXPECT_THROW((void)lab::compare_profiles(shipped(), rounder), Error);
  lab::Profile stranger = shipped();
  stranger.model = "another";
  EXPECT_THROW((void)lab::compare_profiles(shipped(), stranger), Error);
  stranger.model.clear();
  EXPECT_EQ(lab::compare_profiles(shipped(), stranger).size(), 3U);

  // The same error comes before the work starts.
  const lab::Trace trace(data_trace);
  lab::ProfileOptions options;
  options.layers = {12};
  EXPECT_NO_THROW(lab::check_comparable(trace, options, shipped()));
  EXPECT_NO_THROW(lab::check_comparable(trace, options, stranger));
  EXPECT_THROW(lab::check_comparable(trace, options, fewer), Error);
  EXPECT_THROW(lab::check_comparable(trace, options, rounder), Error);
  stranger.model = "another";
  EXPECT_THROW(lab::check_comparable(trace, options, stranger), Error);
  options.layers.clear();
  EXPECT_THROW(lab::check_comparable(trace, options, shipped()), Error);
}

/// Parses the shipped profile after a change to its JSON; the message of the error, or "".
std::string refusal(const std::function<void(Json&)>& change) {
  Json json = Json::parse(lab::profile_text(shipped()));
  change(json);
  const std::string text = json.dump();
  try {
    (void)lab::profiling::parse_profile(*test::source_of(text));
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), Code::input);
    return error.what();
  }
  return {};
}

TEST(ProfileFile, WhatIsWrongIsNamed) {
  EXPECT_EQ(refusal([](Json& j) { j["unknown"] = {1, 2}; }), "");
  const std::pair<std::function<void(Json&)>, const char*> cases[] = {
      {[](Json& j) { j = Json::array(); }, "is not a profile"},
      {[](Json& j) { j["format"] = "other"; }, "\"format\" must be"},
      {[](Json& j) { j["version"] = 2; }, "version"},
      {[](Json& j) { j.erase("delta"); }, "no member delta"},
      {[](Json& j) { j["heads"] = 3; }, "heads must be an array"},
      {[](Json& j) { j["heads"][1] = 3; }, "heads[1] must be an object"},
      {[](Json& j) { j["heads"][1]["C"] = "x"; }, "heads[1].C must be a number or null"},
      {[](Json& j) { j["heads"][1]["law"] = "cubic"; }, "heads[1].law is 'cubic'"},
      {[](Json& j) { j["heads"][1]["layer"] = -1; }, "heads[1].layer must be a whole number"},
      {[](Json& j) { j["heads"][1]["layer"] = 1.5; }, "heads[1].layer must be a whole number"},
      {[](Json& j) { j["heads"][1]["budget"] = "topk:0"; }, "heads[1].budget"},
      {[](Json& j) { j["heads"][1]["k_eps"].erase("p90"); }, "no member heads[1].k_eps.p90"},
      {[](Json& j) { j["heads"][1]["rules"]["power"]["window"] = 1; },
       "power.window must be true or false"},
      {[](Json& j) { j["heads"][1]["reason"] = nullptr; }, "heads[1].reason must be a string"},
      {[](Json& j) { j["heads"][1]["other_eps"] = Json::array(); }, "heads[1] has 1 eps"},
      {[](Json& j) { j["heads"][1]["eps"] = 0.5; }, "heads[1] has eps 0.5"},
      {[](Json& j) { j["heads"][1]["head"] = 0; }, "heads must ascend"},
      {[](Json& j) { j["eps"] = Json::array(); }, "eps must not be empty"},
  };
  for (const auto& [change, part] : cases)
    EXPECT_NE(refusal(change).find(part), std::string::npos)
        << part << " is not in: " << refusal(change);
  for (const char* bad : {"1e999", "-1e999"}) {
    std::string text = lab::profile_text(shipped());
    const std::string delta = "\"delta\": 0.1";
    text.replace(text.find(delta), delta.size(), "\"delta\": " + std::string(bad));
    try {
      (void)lab::profiling::parse_profile(*test::source_of(text));
      FAIL() << bad;
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), Code::input);
      EXPECT_NE(std::string(error.what()).find("the number '" + std::string(bad) + "'"),
                std::string::npos)
          << error.what();
    }
  }
  std::string twice = lab::profile_text(shipped());
  twice.insert(twice.find("\"delta\""), "\"delta\": 0.5, ");
  try {
    (void)lab::profiling::parse_profile(*test::source_of(twice));
    FAIL() << "a member was taken twice";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), Code::input);
    EXPECT_NE(std::string(error.what()).find("two members 'delta'"), std::string::npos)
        << error.what();
  }
  EXPECT_THROW((void)lab::profiling::parse_profile(*test::source_of("{")), Error);
  EXPECT_THROW((void)lab::profiling::parse_profile(*test::source_of("")), Error);
}

TEST(ProfileQuantiles, AreValuesThatAShareDoesNotExceed) {
  EXPECT_EQ(lab::stats::quantiles({5}).p10, 5);
  EXPECT_EQ(lab::stats::quantiles({3, 1, 2}).median, 2);
  std::vector<double> ten{10, 9, 8, 7, 6, 5, 4, 3, 2, 1};
  EXPECT_EQ(lab::stats::quantiles(ten).p10, 1);
  EXPECT_EQ(lab::stats::quantiles(ten).median, 5);
  EXPECT_EQ(lab::stats::quantiles(ten).p90, 9);
  EXPECT_TRUE(std::isnan(lab::stats::quantiles({}).median));
}

TEST(ProfileQuantiles, BinsHoldAllRowsAndNeverPartALength) {
  const std::vector<double> n{5, 1, 3, 3, 3, 3, 9, 2};
  const auto bins = lab::stats::length_bins(n, 4);
  std::vector<int> seen(n.size());
  double before = 0;
  for (const lab::stats::BinRows& bin : bins) {
    EXPECT_GT(n[bin.front()], before);
    for (const std::size_t row : bin) {
      ++seen[row];
      before = std::max(before, n[row]);
    }
  }
  EXPECT_EQ(seen, std::vector<int>(n.size(), 1));
  EXPECT_LE(bins.size(), 4U);
  EXPECT_EQ(lab::stats::length_bins(std::vector<double>(50, 7.0), 8).size(), 1U);
  EXPECT_TRUE(lab::stats::length_bins({}, 8).empty());
}

}  // namespace
}  // namespace tamis
