// Budgets as text, and the message for each kind of mistake.
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>
#include <tamis/budget.h>

#include <bit>
#include <cmath>
#include <limits>

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
  // Doubles with uniformly random bits, so that all exponents are equally likely.
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

}  // namespace
}  // namespace tamis::test
