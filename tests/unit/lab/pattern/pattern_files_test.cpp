// Patterns from Matrix Market, .npy and TREC qrels.
#include <gtest/gtest.h>

#include <rapidcheck/gtest.h>

#include <fmt/format.h>
#include <algorithm>
#include <cmath>

#include <tamis/lab/pattern.h>
#include "lab/pattern/parsers.h"
#include "support/io_files.h"

namespace tamis::test {
namespace {

using Dense = std::vector<std::vector<double>>;

Dense dense_of(const lab::Pattern& pattern) {
  Dense dense(static_cast<std::size_t>(pattern.rows),
              std::vector<double>(static_cast<std::size_t>(pattern.cols)));
  for (std::int64_t row = 0; row < pattern.rows; ++row) {
    const auto columns = pattern.columns_of(row);
    EXPECT_TRUE(std::ranges::is_sorted(columns));
    for (std::size_t i = 0; i < columns.size(); ++i)
      dense[static_cast<std::size_t>(row)][static_cast<std::size_t>(columns[i])] =
          pattern.values_of(row)[i];
  }
  return dense;
}

Dense market(const std::string& text) {
  return dense_of(lab::pattern::parse_matrix_market(*source_of(text)));
}
std::string market_refusal(const std::string& text) {
  return sentence([&] { lab::pattern::parse_matrix_market(*source_of(text)); });
}
std::string qrels_refusal(const std::string& text) {
  return sentence([&] { lab::pattern::parse_qrels(*source_of(text)); });
}

const std::string banner = "%%MatrixMarket matrix coordinate real general\n";
const std::string array_banner = "%%MatrixMarket matrix array real general\n";

// ---- Matrix Market ----

TEST(MatrixMarket, EveryFormIsRead) {
  EXPECT_EQ(market(banner + "% a comment\n\n2 3 3\n2 3 0.5\n1 1 1\n1 2 2e0\n"),
            (Dense{{1, 2, 0}, {0, 0, 0.5}}));
  EXPECT_EQ(market("%%matrixmarket MATRIX Coordinate Pattern General\r\n1 2 1\r\n1 2"),
            (Dense{{0, 1}}));
  EXPECT_EQ(market("%%MatrixMarket matrix coordinate integer symmetric\n2 2 2\n1 1 3\n2 1 4\n"),
            (Dense{{3, 4}, {4, 0}}));
  EXPECT_EQ(market(array_banner + "2 2\n1\n0\n2\n3\n"), (Dense{{1, 2}, {0, 3}}));
  EXPECT_EQ(market("%%MatrixMarket matrix array real symmetric\n2 2\n1\n2\n3\n"),
            (Dense{{1, 2}, {2, 3}}));
}

TEST(MatrixMarket, AByteOrderMarkIsSkipped) {
  const Folder folder;
  const std::string text = "\xef\xbb\xbf" + banner + "1 1 1\n1 1 2\n";
  EXPECT_EQ(market(text), (Dense{{2}}));
  write_text(folder / "unnamed", text);
  EXPECT_EQ(dense_of(lab::read_pattern(folder / "unnamed")), (Dense{{2}}));
}

TEST(MatrixMarket, AZeroThatIsWrittenOutIsNoNonzero) {
  const std::string text = banner + "1 2 2\n1 1 0\n1 2 1\n";
  EXPECT_EQ(lab::pattern::parse_matrix_market(*source_of(text)).nonzeros(), 1);
}

TEST(MatrixMarket, BannersOfOtherMatricesAreRefused) {
  EXPECT_EQ(market_refusal("1 1 1\n"),
            "input: is not Matrix Market; it must begin with '%%MatrixMarket matrix coordinate' or "
            "'… array'");
  EXPECT_EQ(market_refusal("%%MatrixMarket matrix coordinate complex general\n1 1 1\n1 1 1 0\n"),
            "input: holds 'complex' values; a pattern needs real, integer or pattern");
  EXPECT_EQ(market_refusal("%%MatrixMarket matrix coordinate real hermitian\n1 1 1\n1 1 1\n"),
            "input: has the symmetry 'hermitian'; it must be general or symmetric");
  EXPECT_EQ(
      market_refusal("%%MatrixMarket matrix coordinate real skew-symmetric\n2 2 1\n2 1 1\n"),
      "input: is skew-symmetric, so it has negative entries; a pattern's entries must be positive");
  EXPECT_EQ(market_refusal("%%MatrixMarket matrix array pattern general\n1 1\n"),
            "input: is an array without values; only coordinate files can be 'pattern'");
  EXPECT_EQ(market_refusal("%%MatrixMarket matrix coordinate real symmetric\n2 3 1\n1 1 1\n"),
            "input: line 2 gives 2 × 3; a symmetric matrix is square");
}

TEST(MatrixMarket, EntriesThatNoPatternHasAreRefused) {
  const auto out_of_range = [](const std::string& value) {
    return "input: line 3 has the value '" + value +
           "'; it must be 0 or a number within the range of f64, 4.94e-324 to 1.79e308";
  };
  EXPECT_EQ(market_refusal(banner + "1 1 1\n1 1 1e-400\n"), out_of_range("1e-400"));
  EXPECT_EQ(market_refusal("%%MatrixMarket matrix coordinate integer general\n1 1 1\n1 1 1.5\n"),
            "input: line 3 has the value '1.5'; in a file of integers it must be a whole number "
            "from 0 to 2^63 − 1");
  EXPECT_EQ(market_refusal(banner + "1 1 1\n1 1 -1\n"), out_of_range("-1"));
  EXPECT_EQ(market_refusal(banner + "1 1 1\n1 1 nan\n"), out_of_range("nan"));
  EXPECT_EQ(market_refusal(banner + "1 1 1\n1 1 1e999\n"), out_of_range("1e999"));
  EXPECT_EQ(market_refusal(banner + "1 2 1\n1 3 1\n"),
            "input: line 3 has the column '3'; it must be a whole number from 1 to 2");
  EXPECT_EQ(market_refusal(banner + "1 2 1\n0 1 1\n"),
            "input: line 3 has the row '0'; it must be a whole number from 1 to 1");
  EXPECT_EQ(market_refusal(banner + "2 2 3\n1 1 1\n2 2 1\n1 1 1\n"),
            "input: the entry at row 1, column 1 is given twice; each may be given once");
  EXPECT_EQ(market_refusal("%%MatrixMarket matrix coordinate pattern symmetric\n2 2 2\n2 1\n1 2\n"),
            "input: the entry at row 1, column 2 is given twice; each may be given once");
  EXPECT_EQ(market_refusal(banner + "2 2 2\n1 1 1\n1 2 1\n"),
            "input: row 2 has no nonzero; every row of a pattern needs at least one");
  EXPECT_EQ(market_refusal(banner + "1 1 1\n1 1 1 1\n"), "input: line 3 has more than 3 fields");
}

TEST(MatrixMarket, SizesThatLieAreRefusedBeforeAnythingIsAllocated) {
  EXPECT_EQ(
      market_refusal(banner + "1 1 4611686018427387904\n1 1 1\n"),
      "input: announces 4611686018427387904 entries, but holds fewer; it is truncated or its sizes "
      "are wrong");
  EXPECT_EQ(market_refusal(banner + "4611686018427387904 1 1\n1 1 1\n"),
            "input: the pattern has 4611686018427387904 rows but only 1 entries; every row needs "
            "at least one nonzero");
  EXPECT_EQ(
      market_refusal(array_banner + "4611686018427387904 4611686018427387904\n1\n"),
      "input: announces 4611686018427387904 × 4611686018427387904 entries, but holds fewer; it is "
      "truncated or its sizes are wrong");
  EXPECT_EQ(market_refusal(banner + "9223372036854775808 1 1\n1 1 1\n"),
            "input: line 2 must hold the numbers of rows, columns and entries, from 0 to 2^63 − 1");
  EXPECT_EQ(market_refusal(banner + "0 0 0\n"),
            "input: line 2 gives 0 × 0; a pattern needs at least one row and one column");
  EXPECT_EQ(market_refusal(banner + "3 0 0\n"),
            "input: line 2 gives 3 × 0; a pattern needs at least one row and one column");
  EXPECT_EQ(market_refusal(array_banner + "0 3\n"),
            "input: line 2 gives 0 × 3; a pattern needs at least one row and one column");
  EXPECT_EQ(market_refusal(array_banner + "-1 3\n"),
            "input: line 2 must hold the numbers of rows and columns, from 0 to 2^63 − 1");
  EXPECT_EQ(market_refusal(banner + "1 3 3\n1 1 100\n1 2 100\n"),
            "input: announces 3 entries, but holds fewer; it is truncated or its sizes are wrong");
  EXPECT_EQ(market_refusal(banner + "1 2 1\n1 1 1\n1 2 1\n"),
            "input: line 4 comes after the last of 1 entries");
  EXPECT_EQ(market_refusal(banner), "input: ends before the line of sizes; it is truncated");
  // Columns need no memory, however many there are.
  EXPECT_EQ(lab::pattern::parse_matrix_market(
                *source_of(banner + "1 4611686018427387904 1\n1 4611686018427387904 1\n"))
                .column[0],
            4611686018427387903);
}

lab::Pattern any_pattern() {
  lab::Pattern pattern;
  pattern.rows = *rc::gen::inRange(1, 8);
  pattern.cols = *rc::gen::inRange(1, 8);
  pattern.row_start.push_back(0);
  for (std::int64_t row = 0; row < pattern.rows; ++row) {
    auto columns = *rc::gen::unique<std::vector<std::int64_t>>(
        static_cast<std::size_t>(*rc::gen::inRange<std::int64_t>(1, pattern.cols + 1)),
        rc::gen::inRange<std::int64_t>(0, pattern.cols));
    std::ranges::sort(columns);
    for (const std::int64_t column : columns) {
      pattern.column.push_back(column);
      pattern.value.push_back(std::abs(
          *rc::gen::suchThat<double>([](double x) { return x != 0 && std::isfinite(x); })));
    }
    pattern.row_start.push_back(pattern.nonzeros());
  }
  return pattern;
}

RC_GTEST_PROP(MatrixMarket, WhatIsWrittenIsReadBackBitForBit, ()) {
  const Folder folder;
  const lab::Pattern pattern = any_pattern();
  lab::write_matrix_market(folder / "p.mtx", pattern);
  const lab::Pattern back = lab::read_pattern(folder / "p.mtx");
  RC_ASSERT(back.rows == pattern.rows);
  RC_ASSERT(back.cols == pattern.cols);
  RC_ASSERT(back.row_start == pattern.row_start);
  RC_ASSERT(back.column == pattern.column);
  RC_ASSERT(back.value == pattern.value);
}

// ---- TREC qrels ----

TEST(Qrels, TopicsAreRowsAndJudgedDocumentsColumns) {
  const lab::Pattern pattern = lab::pattern::parse_qrels(
      *source_of("301 0 doc-b 1\n301\t0\tdoc-a\t0\r\n\n302 Q0 doc-a 2\n302 0 doc-c -1"));
  EXPECT_EQ(pattern.row_names, (std::vector<std::string>{"301", "302"}));
  EXPECT_EQ(pattern.column_names, (std::vector<std::string>{"doc-b", "doc-a", "doc-c"}));
  EXPECT_EQ(dense_of(pattern), (Dense{{1, 0, 0}, {0, 1, 0}}));
}

TEST(Qrels, TopicsWithoutARelevantDocumentAreDroppedIfAskedTo) {
  const lab::Pattern pattern = lab::pattern::parse_qrels(
      *source_of("x 0 a 0\n301 0 b 1\ny 0 c -1\n302 0 a 1\nx 0 d 0\n301 0 d 2\n"),
      lab::EmptyTopics::drop);
  EXPECT_EQ(pattern.row_names, (std::vector<std::string>{"301", "302"}));
  EXPECT_EQ(pattern.column_names, (std::vector<std::string>{"a", "b", "c", "d"}));
  EXPECT_EQ(dense_of(pattern), (Dense{{0, 1, 0, 1}, {1, 0, 0, 0}}));
  EXPECT_EQ(pattern.dropped, (std::vector<std::string>{"x", "y"}));
  EXPECT_TRUE(
      lab::pattern::parse_qrels(*source_of("1 0 a 1\n"), lab::EmptyTopics::drop).dropped.empty());
  EXPECT_THROW(lab::pattern::parse_qrels(*source_of("1 0 a 0\n"), lab::EmptyTopics::drop), Error);
}

TEST(Qrels, AMatrixHasNoTopicsToDrop) {
  const Folder folder;
  write_text(folder / "p.mtx", banner + "1 1 1\n1 1 2\n");
  EXPECT_EQ(
      sentence([&] { lab::read_pattern(folder / "p.mtx", lab::EmptyTopics::drop); }, Code::usage),
      folder / "p.mtx" + ": is a matrix; --drop-empty leaves topics out of qrels alone");
}

TEST(Qrels, AByteOrderMarkIsNoPartOfTheFirstTopic) {
  const lab::Pattern pattern =
      lab::pattern::parse_qrels(*source_of("\xef\xbb\xbf"
                                           "1 0 a 1\n1 0 b 1\n"));
  EXPECT_EQ(pattern.row_names, std::vector<std::string>{"1"});
}

TEST(Qrels, LinesThatAreNoJudgementsAreRefused) {
  EXPECT_EQ(qrels_refusal(""),
            "input: holds no judgements; each line is topic, iteration, document, relevance");
  EXPECT_EQ(qrels_refusal("1 0 a 1\nquery-id corpus-id score\n"),
            "input: line 2 does not have four fields; each line is topic, iteration, document, "
            "relevance");
  EXPECT_EQ(qrels_refusal("1 0 a 1 5\n"),
            "input: line 1 does not have four fields; each line is topic, iteration, document, "
            "relevance");
  EXPECT_EQ(qrels_refusal("1 0 a yes\n"),
            "input: the relevance on line 1 is 'yes'; it must be a whole number");
  EXPECT_EQ(qrels_refusal("1 0 a 1\n1 0 a 0\n"),
            "input: the entry at topic '1', document 'a' is given twice; each may be given once");
  EXPECT_EQ(qrels_refusal("1 0 a 1\n2 0 a 0\n"),
            "input: topic '2' has no relevant document; every row of a pattern needs at least one, "
            "so leave such topics out (--drop-empty, EmptyTopics::drop)");
  EXPECT_EQ(qrels_refusal("4 0 a 0\n1 0 a 1\n2 0 a 0\n3 0 b -1\n"),
            "input: topic '4' has no relevant document, nor have 2 others; every row of a pattern "
            "needs at least one, so leave such topics out (--drop-empty, EmptyTopics::drop)");
  EXPECT_EQ(qrels_refusal(std::string("1 0 a\0b 1\n", 10)),
            "input: byte 5 is zero; qrels are lines of text");
  EXPECT_EQ(qrels_refusal("1 0 \xff 1\n"),
            "input: is not UTF-8 at byte 4; qrels are lines of text");
}

// ---- .npy, and which format a file has ----

TEST(Pattern, AnyTypeOfNpyMatrixIsAPattern) {
  const Folder folder;
  const std::vector<std::uint8_t> bytes{1, 0, 0, 2};
  lab::write_npy(folder / "p.npy", {{"", DType::u8, {2, 2}}, bytes.data()});
  EXPECT_EQ(dense_of(lab::read_pattern(folder / "p.npy")), (Dense{{1, 0}, {0, 2}}));
  const std::vector<double> reals{0.25, -0.0, 0, 1e-300};
  lab::write_npy(folder / "p.npy", {{"", DType::f64, {2, 2}}, reals.data()});
  EXPECT_EQ(dense_of(lab::read_pattern(folder / "p.npy")), (Dense{{0.25, 0}, {0, 1e-300}}));
}

TEST(Pattern, NpyArraysThatAreNoPatternAreRefused) {
  const Folder folder;
  const std::string path = folder / "p.npy";
  const auto refusal = [&](std::vector<std::int64_t> shape, std::vector<float> values) {
    lab::write_npy(path, {{"", DType::f32, std::move(shape)}, values.data()});
    return sentence([&] { lab::read_pattern(path); });
  };
  EXPECT_EQ(
      refusal({2, 2}, {1, 0, -2, 1}),
      path + ": the entry at [1, 0] is -2; a pattern's entries must be finite and not negative");
  EXPECT_EQ(
      refusal({1, 2}, {1, INFINITY}),
      path + ": the entry at [0, 1] is inf; a pattern's entries must be finite and not negative");
  EXPECT_EQ(
      refusal({1, 2}, {1, NAN}),
      path + ": the entry at [0, 1] is nan; a pattern's entries must be finite and not negative");
  EXPECT_EQ(refusal({2, 1}, {1, 0}),
            path + ": row 1 has no nonzero; every row of a pattern needs at least one");
  const std::vector<std::int64_t> whole{1, -(std::int64_t{1} << 53) - 1};
  lab::write_npy(path, {{"", DType::i64, {1, 2}}, whole.data()});
  EXPECT_EQ(
      sentence([&] { lab::read_pattern(path); }),
      path +
          ": the entry at [0, 1] is -9007199254740993; a pattern's entries must be finite and not "
          "negative");
  EXPECT_EQ(refusal({3}, {1, 1, 1}),
            path + ": the array has 1 dimensions [3]; a pattern is a matrix and has 2");
  EXPECT_EQ(refusal({0, 3}, {}),
            path + ": the matrix is 0 × 3; a pattern needs at least one row and one column");
}

TEST(Pattern, ReadingStopsWhenItsProgressIsTold) {
  const Folder folder;
  const std::int64_t lines = 300'000;
  std::string market = banner + fmt::format("{0} 1 {0}\n", lines);
  std::string qrels;
  for (std::int64_t i = 1; i <= lines; ++i) {
    market += fmt::format("{} 1 1\n", i);
    qrels += fmt::format("{} 0 d 1\n", i);
  }
  write_text(folder / "p.mtx", market);
  write_text(folder / "p.qrels", qrels);
  const std::vector<std::uint8_t> ones(std::size_t{1} << 22, 1);
  lab::write_npy(folder / "p.npy", {{"", DType::u8, {1 << 12, 1 << 10}}, ones.data()});
  for (const char* name : {"p.mtx", "p.qrels", "p.npy"}) {
    SCOPED_TRACE(name);
    const std::string path = folder / name;
    const auto size = static_cast<double>(std::filesystem::file_size(path));
    double last = 0;
    (void)lab::read_pattern(path, lab::EmptyTopics::refuse, [&](double done, double total) {
      EXPECT_TRUE(last < done && done < total && total == size);
      last = done;
      return true;
    });
    EXPECT_GT(last, size - 3e6);
    try {
      (void)lab::read_pattern(path, lab::EmptyTopics::refuse, [](double, double) { return false; });
      FAIL() << "it was read to its end";
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), Code::cancelled);
      EXPECT_NE(std::string(error.what()).find(path + ": reading was stopped after"),
                std::string::npos);
    }
  }
}

TEST(Pattern, FilesWithoutAKnownEndingAreToldApartByHowTheyBegin) {
  const Folder folder;
  write_text(folder / "matrix", banner + "1 1 1\n1 1 2\n");
  EXPECT_EQ(dense_of(lab::read_pattern(folder / "matrix")), (Dense{{2}}));
  write_text(folder / "judgements", "1 0 a 1\n");
  EXPECT_EQ(lab::read_pattern(folder / "judgements").row_names.size(), 1U);
  const float one = 1;
  lab::write_npy(folder / "array", {{"", DType::f32, {1, 1}}, &one});
  EXPECT_EQ(dense_of(lab::read_pattern(folder / "array")), (Dense{{1}}));
  write_text(folder / "p.mtx", "\x1f\x8b\x08");
  EXPECT_EQ(sentence([&] { lab::read_pattern(folder / "p.mtx"); }),
            folder / "p.mtx: is compressed with gzip; give the uncompressed file");
}

TEST(Pattern, RowsOutsideAreAnError) {
  const lab::Pattern pattern =
      lab::pattern::parse_matrix_market(*source_of(banner + "1 1 1\n1 1 2\n"));
  EXPECT_EQ(sentence([&] { (void)pattern.columns_of(1); }, Code::usage),
            "row 1 is not in a pattern of 1 rows");
  EXPECT_EQ(sentence([&] { (void)pattern.values_of(-1); }, Code::usage),
            "row -1 is not in a pattern of 1 rows");
}

}  // namespace
}  // namespace tamis::test
