// Lines, fields, numbers and names.
#include "core/text.h"

#include <tamis/text.h>

#include "support/io_files.h"

namespace tamis::test {
namespace {

std::vector<std::string> lines_of(std::string_view text) {
  std::vector<std::string> all;
  core::Lines lines(text);
  for (std::string_view line; lines.next(line);) all.emplace_back(line);
  return all;
}

TEST(Text, LinesEndWithNewlineOrCarriageReturnOrTheText) {
  using List = std::vector<std::string>;
  EXPECT_EQ(lines_of(""), List{});
  EXPECT_EQ(lines_of("\n"), List{""});
  EXPECT_EQ(lines_of("a\r\n\nb"), (List{"a", "", "b"}));
  EXPECT_EQ(lines_of("a\nb\n"), (List{"a", "b"}));
}

TEST(Text, FieldsAreSeparatedByBlanks) {
  std::string_view line = " \tone two\t three ";
  EXPECT_EQ(core::next_field(line), "one");
  EXPECT_EQ(core::next_field(line), "two");
  EXPECT_EQ(core::next_field(line), "three");
  EXPECT_EQ(core::next_field(line), "");
}

TEST(Text, NumbersAreWholeFieldsInRange) {
  EXPECT_EQ(core::parse_int("9223372036854775807"), 9223372036854775807);
  EXPECT_EQ(core::parse_int("+7"), 7);
  for (const char* bad : {"", "+", "-", "+-7", "++7", "7a", " 7", "7.0", "9223372036854775808"})
    EXPECT_FALSE(core::parse_int(bad)) << bad;
  EXPECT_EQ(core::parse_f64("+1.5e3"), 1500.0);
  EXPECT_EQ(core::parse_f64("4.9406564584124654e-324"), 0x1p-1074);
  EXPECT_EQ(core::parse_f32("0.1"), 0.1F);
  for (const char* bad : {"", "nan", "inf", "-inf", "1e999", "1.5x", "0x10"})
    EXPECT_FALSE(core::parse_f64(bad)) << bad;
  EXPECT_FALSE(core::parse_f32("1e39"));
}

TEST(Text, NamesFromFilesCannotSpoilAMessage) {
  EXPECT_EQ(core::quote("layers.3.k"), "'layers.3.k'");
  EXPECT_EQ(core::quote("été"), "'été'");
  EXPECT_EQ(core::quote("a\nb\x1b[31m\x7f\xff"), R"('a\x0ab\x1b[31m\x7f\xff')");
  // U+0080 to U+009F also control terminals: U+009B begins the same sequences as ESC [.
  EXPECT_EQ(core::quote("\xc2\x80\xc2\x9b\xc2\xa0"), "'\\xc2\\x80\\xc2\\x9b\xc2\xa0'");
  EXPECT_EQ(printable("été\xc2\x9b"
                      "31m\n" +
                      std::string(100, 'x')),
            "été\\xc2\\x9b31m\\x0a" + std::string(100, 'x'));
  EXPECT_LT(core::quote(std::string(1'000'000, 'x')).size(), 100U);
}

TEST(Text, AByteOrderMarkIsNoText) {
  EXPECT_EQ(core::without_byte_order_mark("\xef\xbb\xbf"
                                          "301"),
            "301");
  EXPECT_EQ(core::without_byte_order_mark("301"), "301");
  EXPECT_EQ(core::without_byte_order_mark("\xef\xbb"), "\xef\xbb");
}

TEST(Text, OnlyWellFormedUtf8IsUtf8) {
  EXPECT_FALSE(core::first_not_utf8("plain, é, ≤, 😀, \xf4\x8f\xbf\xbf"));
  for (const std::string_view bad :
       {"\x80", "\xc0\x80", "\xc3", "\xe0\x9f\xbf", "\xed\xa0\x80", "\xe2\x89", "\xf0\x8f\xbf\xbf",
        "\xf4\x90\x80\x80", "\xf5\x80\x80\x80", "\xc3("})
    EXPECT_EQ(core::first_not_utf8("ab" + std::string(bad)), 2U);
}

}  // namespace
}  // namespace tamis::test
