// The budgets of a profile file, and the message for each kind of mistake.
#include <gtest/gtest.h>

#include "lab/profile/profile_file.h"
#include "support/io_files.h"

namespace tamis::test {
namespace {

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
            folder / "p.json" + ": there is no member heads; give a profile");
  EXPECT_NE(
      sentence([&] { (void)lab::read_profile_budgets(folder / "q.json"); }).find("no such file"),
      std::string::npos);
}

TEST(ProfileBudgets, WhatIsNotAProfileIsRefused) {
  EXPECT_EQ(profile_refusal(R"([])"), "a profile must be an object");
  EXPECT_EQ(profile_refusal(R"(7)"), "a profile must be an object");
  EXPECT_EQ(profile_refusal(R"({"heads": {}})"), "heads must be an array");
  EXPECT_EQ(profile_refusal(R"({"heads": null})"), "heads must be an array");
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
  EXPECT_EQ(entry(R"("head": 1, "budget": "topk:1")"),
            "there is no member heads[1].layer; give a profile");
  EXPECT_EQ(entry(R"("layer": 1, "budget": "topk:1")"),
            "there is no member heads[1].head; give a profile");
  EXPECT_EQ(entry(R"("layer": 1, "head": 1)"),
            "there is no member heads[1].budget; give a profile");
  // This also holds for members that are not used, since another reader may take the other value.
  for (const char* twice :
       {R"("layer": 1, "layer": 1)", R"("budget": "topk:1", "budget": "topk:1")",
        R"("n": 1, "n": 1)", R"("deep": [{"n": 1, "\u006e": 2}])"})
    EXPECT_NE(entry(twice).find("an object has two members '"), std::string::npos) << entry(twice);
  for (const char* bad :
       {"-1", "1.0", "\"1\"", "null", "[1]", "{}", "true", "9223372036854775808"}) {
    EXPECT_EQ(entry(std::string(R"("layer": )") + bad),
              "heads[1].layer must be a whole number, at least 0");
    EXPECT_EQ(entry(std::string(R"("layer": 1, "head": )") + bad),
              "heads[1].head must be a whole number, at least 0");
  }
  for (const char* bad : {"64", "null", "[]", "{}", "0.5", "-1"})
    EXPECT_EQ(entry(std::string(R"("layer": 1, "head": 1, "budget": )") + bad),
              "heads[1].budget must be a string");
  EXPECT_EQ(entry(R"("layer": 1, "head": 1, "budget": "topk:0")"),
            "heads[1].budget is 'topk:0'; budget 'topk:0': K is '0'; it must be a whole number, at "
            "least 1");
  EXPECT_EQ(entry(R"("layer": 0, "head": 0, "budget": "topk:2")"),
            "heads[0] and heads[1] are both head 0 of layer 0; a head may occur once");
}

}  // namespace
}  // namespace tamis::test
