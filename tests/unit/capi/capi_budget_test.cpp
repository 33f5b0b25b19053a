// Budgets and profiles through the C ABI.
#include <gtest/gtest.h>
#include <tamis/tamis.h>

#include <cmath>
#include <cstring>
#include <string>

#include "support/io_files.h"
#include "unit/capi/capi_support.h"

namespace tamis_c {
namespace {

TEST(CApiBudget, BudgetsGoToTextAndBack) {
  for (const char* text : {"mass:0.05", "bytes:0.25", "topk:64", "power:2,0.5", "window:256,4"}) {
    tamis_budget budget;
    char back[TAMIS_BUDGET_TEXT];
    ASSERT_EQ(tamis_budget_parse(text, &budget), TAMIS_OK) << tamis_last_error();
    ASSERT_EQ(tamis_budget_to_text(&budget, back, sizeof back), TAMIS_OK) << tamis_last_error();
    EXPECT_STREQ(back, text);
    EXPECT_EQ(tamis_budget_to_text(&budget, back, std::strlen(text) + 1), TAMIS_OK);
    expect_usage(tamis_budget_to_text(&budget, back, std::strlen(text)), "capacity");
  }
  // The longest text that occurs: 17 digits, sign and exponent, twice.
  tamis_budget longest{TAMIS_POWER, 0, 0, 0, -1, 1.7976931348623157e+308, 0, 0, 0};
  longest.alpha = std::nextafter(HUGE_VAL, 0.0);
  longest.exponent = std::nextafter(std::nextafter(2.2250738585072014e-308, 0.0), 0.0);
  char text[TAMIS_BUDGET_TEXT];
  EXPECT_EQ(tamis_budget_to_text(&longest, text, sizeof text), TAMIS_OK) << tamis_last_error();
  longest = {TAMIS_WINDOW, 0, 0, 0, 0, 0, 0, huge, huge};
  EXPECT_EQ(tamis_budget_to_text(&longest, text, sizeof text), TAMIS_OK) << tamis_last_error();
  expect_usage(tamis_budget_parse("topk:0", &longest), "at least 1");
  expect_usage(tamis_budget_parse("top", &longest), "topk:K");
}

TEST(CApiBudget, AProfileGivesItsBudgets) {
  const tamis::test::Folder folder;
  const std::string path = folder / "p.json";
  tamis::test::write_text(path, R"({"heads": [{"layer": 3, "head": 1, "budget": "power:2,0.5"},
                                              {"layer": 3, "head": 0, "budget": "topk:64"}]})");
  Profile profile;
  ASSERT_EQ(tamis_profile_read(path.c_str(), &profile), TAMIS_OK) << tamis_last_error();
  const tamis_head_budget* heads = nullptr;
  std::size_t count = 0;
  ASSERT_EQ(tamis_profile_budgets(profile, &heads, &count), TAMIS_OK);
  ASSERT_EQ(count, 2U);
  EXPECT_EQ(heads[0].layer, 3);
  EXPECT_EQ(heads[0].head, 1);
  EXPECT_EQ(heads[0].budget.kind, TAMIS_POWER);
  EXPECT_EQ(heads[0].budget.alpha, 2);
  EXPECT_EQ(heads[0].budget.exponent, 0.5);
  EXPECT_EQ(heads[1].head, 0);
  EXPECT_EQ(heads[1].budget.k, 64);
  tamis::test::write_text(path, "[]");
  Profile bad;
  EXPECT_EQ(tamis_profile_read(path.c_str(), &bad), TAMIS_INPUT);
  EXPECT_EQ(bad.handle, nullptr);
}

TEST(CApiBudget, NullPointersGiveUsage) {
  tamis_budget budget{};
  char text[TAMIS_BUDGET_TEXT];
  const tamis_head_budget* heads = nullptr;
  std::size_t count = 0;
  Profile profile;
  expect_usage(tamis_budget_parse(nullptr, &budget), "text is null");
  expect_usage(tamis_budget_parse("mass:0.05", nullptr), "out is null");
  ASSERT_EQ(tamis_budget_parse("mass:0.05", &budget), TAMIS_OK);
  expect_usage(tamis_budget_to_text(nullptr, text, sizeof text), "budget is null");
  expect_usage(tamis_budget_to_text(&budget, nullptr, sizeof text), "out is null");
  expect_usage(tamis_profile_read(nullptr, &profile), "path is null");
  expect_usage(tamis_profile_read("p.json", nullptr), "out is null");
  expect_usage(tamis_profile_budgets(nullptr, &heads, &count), "profile is null");
  tamis_profile_free(nullptr);
}

}  // namespace
}  // namespace tamis_c
