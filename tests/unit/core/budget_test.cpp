// Budgets as text and in profiles, and a sentence for each way of getting them wrong.
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>
#include <tamis/budget.h>

#include <bit>
#include <cmath>
#include <limits>

#include "lab/profile/budgets.h"
#include "support/io_files.h"

namespace tamis::test {
namespace {

using Kind = Budget::Kind;

std::string refusal(std::string_view text) {
  return sentence([&] { (void)parse_budget(text); }, Code::usage);
}

std::string refusal(const Budget& budget) {
  return sentence([&] { check_budget(budget); }, Code::usage);
}

TEST(Budget, EveryFormIsRead) {
  EXPECT_EQ(parse_budget("mass:0.05"), (Budget{.kind = Kind::mass, .eps = 0.05}));
  EXPECT_EQ(parse_budget("mass:1e-300"), (Budget{.kind = Kind::mass, .eps = 1e-300}));
  EXPECT_EQ(parse_budget("bytes:1"), (Budget{.kind = Kind::bytes, .share = 1}));
  EXPECT_EQ(parse_budget("topk:64"), (Budget{.kind = Kind::topk, .k = 64}));
  EXPECT_EQ(parse_budget("topk:9223372036854775807").k, std::numeric_limits<std::int64_t>::max());
  EXPECT_EQ(parse_budget("power:2,0.5"),
            (Budget{.kind = Kind::power, .alpha = 2, .exponent = 0.5}));
  EXPECT_EQ(parse_budget("power:.25,0"),
            (Budget{.kind = Kind::power, .alpha = 0.25, .exponent = 0}));
  EXPECT_EQ(parse_budget("window:256,4"),
            (Budget{.kind = Kind::window, .window = 256, .sinks = 4}));
}

TEST(Budget, TextReadsBackToTheSameValue) {
  EXPECT_EQ(to_string(Budget{}), "mass:0.05");
  EXPECT_EQ(to_string(Budget{.kind = Kind::power, .alpha = 2, .exponent = 0.1}), "power:2,0.1");
  EXPECT_EQ(to_string(Budget{.kind = Kind::window, .window = 256, .sinks = 4}), "window:256,4");
}

RC_GTEST_PROP(Budget, AnyInRangeReadsBackToTheSameValue, ()) {
  // Doubles by their bits: every exponent is as likely as another.
  const auto real = [](double below) {
    return *rc::gen::suchThat(
        rc::gen::map(rc::gen::arbitrary<std::uint64_t>(),
                     [](std::uint64_t bits) { return std::abs(std::bit_cast<double>(bits)); }),
        [below](double x) { return x > 0 && x < below; });
  };
  const auto whole = [](std::int64_t least) {
    return *rc::gen::inRange(least, std::numeric_limits<std::int64_t>::max());
  };
  Budget budget;
  budget.kind = *rc::gen::element(Kind::mass, Kind::bytes, Kind::topk, Kind::power, Kind::window);
  switch (budget.kind) {
    case Kind::mass:
      budget.eps = real(1);
      break;
    case Kind::bytes:
      budget.share = real(1);
      break;
    case Kind::topk:
      budget.k = whole(1);
      break;
    case Kind::power:
      budget.alpha = real(std::numeric_limits<double>::infinity());
      budget.exponent = real(1);
      break;
    case Kind::window:
      budget.window = whole(1);
      budget.sinks = whole(0);
      break;
  }
  check_budget(budget);
  RC_ASSERT(parse_budget(to_string(budget)) == budget);
}

TEST(Budget, UnknownKindsAreToldTheFormsThereAre) {
  const std::string forms =
      "is of no known kind; it must be one of mass:EPS, bytes:SHARE, topk:K, power:ALPHA,C, "
      "window:W,SINKS";
  EXPECT_EQ(refusal("top:5"), "budget 'top:5' " + forms);
  EXPECT_EQ(refusal(""), "budget '' " + forms);
  EXPECT_EQ(refusal("Mass:0.05"), "budget 'Mass:0.05' " + forms);
  EXPECT_EQ(refusal(" mass:0.05"), "budget ' mass:0.05' " + forms);
  EXPECT_EQ(refusal("profile:p.json"), "budget 'profile:p.json' " + forms);
  EXPECT_EQ(refusal("\n:1"), "budget '\\x0a:1' " + forms);
}

TEST(Budget, WrongFormsAreToldTheRightOne) {
  EXPECT_EQ(refusal("mass"), "budget 'mass' has the wrong form; it must be mass:EPS");
  EXPECT_EQ(refusal("topk:1,2"), "budget 'topk:1,2' has the wrong form; it must be topk:K");
  EXPECT_EQ(refusal("power:2"), "budget 'power:2' has the wrong form; it must be power:ALPHA,C");
  EXPECT_EQ(refusal("window:1,2,3"),
            "budget 'window:1,2,3' has the wrong form; it must be window:W,SINKS");
}

TEST(Budget, NumbersThatAreNoneOrOutOfRangeAreNamed) {
  const auto expect = [](const std::string& kind, const std::string& values,
                         const std::string& name, const std::string& value,
                         const std::string& right) {
    const std::string text = kind + ":" + values;
    EXPECT_EQ(refusal(text),
              "budget '" + text + "': " + name + " is '" + value + "'; it must be " + right);
  };
  for (const char* bad : {"", "0", "1", "-0.5", "2", "nan", "inf", "0.05x", " 0.05", "0x1p-3",
                          "1e-999", "1e999", "5%"})
    expect("mass", bad, "EPS", bad, "a number above 0 and below 1");
  for (const char* bad : {"", "0", "1.01", "-1", "nan", "half"})
    expect("bytes", bad, "SHARE", bad, "a number above 0 and at most 1");
  for (const char* bad : {"", "0", "-3", "1.5", "1e3", "9223372036854775808", "all"})
    expect("topk", bad, "K", bad, "a whole number, at least 1");
  for (const char* bad : {"", "0", "-1", "inf", "nan", "1e999"})
    expect("power", std::string(bad) + ",0.5", "ALPHA", bad, "a finite number above 0");
  for (const char* bad : {"", "-0.1", "1.1", "nan"})
    expect("power", std::string("2,") + bad, "C", bad, "a number from 0 to 1");
  for (const char* bad : {"", "0", "-1", "2.0"})
    expect("window", std::string(bad) + ",4", "W", bad, "a whole number, at least 1");
  for (const char* bad : {"", "-1", "four"})
    expect("window", std::string("256,") + bad, "SINKS", bad, "a whole number, at least 0");
}

TEST(Budget, CheckLooksAtTheNumbersOfItsKindAlone) {
  const double nan = std::nan("");
  check_budget({.kind = Kind::topk, .eps = nan, .share = -1, .k = 1, .window = -5});
  check_budget({.kind = Kind::bytes, .share = 1});
  EXPECT_EQ(refusal(Budget{.eps = 1}),
            "budget 'mass:1': EPS is '1'; it must be a number above 0 and below 1");
  EXPECT_NE(refusal(Budget{.eps = nan}).find("EPS is 'nan'"), std::string::npos);
  EXPECT_NE(refusal(Budget{.kind = Kind::topk, .k = 0}).find("K is '0'"), std::string::npos);
  EXPECT_NE(refusal(Budget{.kind = Kind::power, .alpha = HUGE_VAL}).find("ALPHA is 'inf'"),
            std::string::npos);
  EXPECT_NE(refusal(Budget{.kind = Kind::window, .sinks = -1}).find("SINKS is '-1'"),
            std::string::npos);
  EXPECT_NE(refusal(Budget{.kind = static_cast<Kind>(9)}).find("kind 9"), std::string::npos);
}

// ---- Profiles ----

std::vector<lab::HeadBudget> profile(std::string_view json) {
  return lab::profiling::parse_profile_budgets(*source_of(json));
}

std::string profile_refusal(std::string_view json) {
  const std::string said = sentence([&] { (void)profile(json); });
  EXPECT_TRUE(said.starts_with("input: ")) << said;
  return said.substr(std::min(said.size(), std::string_view("input: ").size()));
}

TEST(ProfileBudgets, AreReadInOrderAndAllElseIsIgnored) {
  const auto heads =
      profile(R"({"model": {"heads": [1, {"layer": "x"}]}, "eps": [0.01, null], "heads": [
      {"layer": 3, "head": 1, "budget": "power:2,0.5", "k_eps": {"head": -1, "p": [[], {}]}, "C": 0.5},
      {"budget": "mass:0.01", "head": 0, "layer": 21, "law": "constant", "budgets": true}], "n": -1.5e3})");
  ASSERT_EQ(heads.size(), 2U);
  EXPECT_EQ(heads[0].layer, 3);
  EXPECT_EQ(heads[0].head, 1);
  EXPECT_EQ(heads[0].budget, parse_budget("power:2,0.5"));
  EXPECT_EQ(heads[1].layer, 21);
  EXPECT_EQ(heads[1].head, 0);
  EXPECT_EQ(heads[1].budget, parse_budget("mass:0.01"));
  EXPECT_TRUE(profile(R"({"heads": []})").empty());
}

TEST(ProfileBudgets, AreReadFromAFileWhichErrorsName) {
  const Folder folder;
  write_text(folder / "p.json", R"({"heads": [{"layer": 0, "head": 2, "budget": "topk:7"}]})");
  const auto heads = lab::read_profile_budgets(folder / "p.json");
  ASSERT_EQ(heads.size(), 1U);
  EXPECT_EQ(heads[0].budget.k, 7);
  write_text(folder / "p.json", "{}");
  EXPECT_EQ(sentence([&] { (void)lab::read_profile_budgets(folder / "p.json"); }),
            folder / "p.json" + ": there is no member 'heads'; it must be an array");
  EXPECT_NE(
      sentence([&] { (void)lab::read_profile_budgets(folder / "q.json"); }).find("no such file"),
      std::string::npos);
}

TEST(ProfileBudgets, WhatIsNotAProfileIsRefused) {
  EXPECT_EQ(profile_refusal(R"([])"), "a profile must be a JSON object with a member 'heads'");
  EXPECT_EQ(profile_refusal(R"(7)"), "a profile must be a JSON object with a member 'heads'");
  EXPECT_EQ(profile_refusal(R"({"heads": {}})"), "the member 'heads' must be an array");
  EXPECT_EQ(profile_refusal(R"({"heads": null})"), "the member 'heads' must be an array");
  EXPECT_EQ(profile_refusal(R"({"heads": [], "heads": []})"),
            "an object has two members 'heads'; each may be there once");
  EXPECT_EQ(profile_refusal(R"({"heads": [5]})"), "heads[0] must be an object");
  EXPECT_EQ(profile_refusal(""), "is not JSON from its byte 1 on; give a profile");
  EXPECT_EQ(profile_refusal(R"({"heads": [}])"), "is not JSON from its byte 12 on; give a profile");
  EXPECT_EQ(profile_refusal(R"({"heads": []} more)"),
            "is not JSON from its byte 15 on; give a profile");
  EXPECT_EQ(profile_refusal(std::string_view("{\"heads\": []}\0", 14)),
            "is not JSON from its byte 14 on; give a profile");
  EXPECT_NE(profile_refusal("{\"heads\": [{\"\xff\": 1}]}").find("not JSON"), std::string::npos);
  EXPECT_NE(profile_refusal("{\"x\":" + std::string(100'000, '[')).find("not JSON"),
            std::string::npos);
}

TEST(ProfileBudgets, EntriesThatAreWrongAreNamed) {
  const auto entry = [](const std::string& members) {
    return profile_refusal(R"({"heads": [{"layer": 0, "head": 0, "budget": "topk:1"}, {)" +
                           members + "}]}");
  };
  EXPECT_EQ(entry(R"("head": 1, "budget": "topk:1")"), "heads[1] has no member 'layer'");
  EXPECT_EQ(entry(R"("layer": 1, "budget": "topk:1")"), "heads[1] has no member 'head'");
  EXPECT_EQ(entry(R"("layer": 1, "head": 1)"), "heads[1] has no member 'budget'");
  // Also where the member is of no interest: another reader may take the other one.
  for (const char* twice :
       {R"("layer": 1, "layer": 1)", R"("budget": "topk:1", "budget": "topk:1")",
        R"("n": 1, "n": 1)", R"("deep": [{"n": 1, "\u006e": 2}])"})
    EXPECT_NE(entry(twice).find("an object has two members '"), std::string::npos) << entry(twice);
  for (const char* bad :
       {"-1", "1.0", "\"1\"", "null", "[1]", "{}", "true", "9223372036854775808"}) {
    EXPECT_EQ(entry(std::string(R"("layer": )") + bad),
              "heads[1].layer must be a whole number, at least 0");
    EXPECT_EQ(entry(std::string(R"("head": )") + bad),
              "heads[1].head must be a whole number, at least 0");
  }
  for (const char* bad : {"64", "null", "[]", "{}", "0.5", "-1"})
    EXPECT_EQ(entry(std::string(R"("budget": )") + bad),
              "heads[1].budget must be a string such as \"mass:0.05\"");
  EXPECT_EQ(entry(R"("budget": "topk:0")"),
            "heads[1]: budget 'topk:0': K is '0'; it must be a whole number, at least 1");
  EXPECT_EQ(entry(R"("layer": 0, "head": 0, "budget": "topk:2")"),
            "heads[0] and heads[1] are both head 0 of layer 0; a head may occur once");
}

}  // namespace
}  // namespace tamis::test
