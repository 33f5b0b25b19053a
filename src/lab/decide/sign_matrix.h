// The matrix of signs whose sign-rank is the dimension plus one: + where the pattern has a nonzero,
// − elsewhere, and a row of ones. Rows that are equal or complementary (q and −q) and columns that
// are equal put the same conditions on the vectors, so each kind occurs once and searches meet no
// copies.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include <tamis/lab/pattern.h>
#include <tamis/lab/refutation.h>

namespace tamis::lab::decision {

/// Bits by row, 1 for +, padded with zeros to whole words. Row 0 is the row of ones.
struct SignMatrix {
  std::int64_t rows = 0;
  std::int64_t cols = 0;
  std::int64_t words = 0;            ///< per row
  std::vector<std::uint64_t> bits;   ///< rows × words
  std::vector<std::int64_t> row_of;  ///< the pattern's first row of that kind, `ones_row` for row 0
  std::vector<std::int64_t> column_of;  ///< the pattern's first column of that kind
  std::vector<std::int64_t> kind_of;    ///< for each of the pattern's columns, its column here

  [[nodiscard]] bool at(std::int64_t row, std::int64_t col) const {
    return ((bits[static_cast<std::size_t>(row * words + col / 64)] >> (col % 64)) & 1U) != 0;
  }
};

/// The sign matrix of a pattern; nothing if it would take more than 2^30 bits. Time is linear in
/// the nonzeros and the bits. Kinds are told apart by hashes of 128 bits. A collision would lose a
/// row or a column, but could not make an answer wrong: refutations name rows and columns of the
/// pattern, and witnesses are verified on all of it.
std::optional<SignMatrix> sign_matrix(const Pattern& pattern);

/// The matrix seen from its columns or from its rows. The elements are the columns and the cuts the
/// rows, or the other way round; each element has one bit for each cut.
struct Side {
  bool of_columns = true;
  std::int64_t elements = 0;
  std::int64_t cuts = 0;
  std::int64_t words = 0;           ///< per element
  std::vector<std::uint64_t> bits;  ///< elements × words

  [[nodiscard]] const std::uint64_t* of(std::int64_t element) const {
    return &bits[static_cast<std::size_t>(element * words)];
  }
  [[nodiscard]] bool at(std::int64_t element, std::int64_t cut) const {
    return ((of(element)[cut / 64] >> (cut % 64)) & 1U) != 0;
  }
};
Side side_of_columns(const SignMatrix& signs);
Side side_of_rows(const SignMatrix& signs);

}  // namespace tamis::lab::decision
