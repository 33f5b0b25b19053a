// The signs whose sign-rank is the dimension and one: + where the pattern has a nonzero, −
// elsewhere, and the row of ones. Rows and columns that ask for the same are there once, so that
// searches meet no copies: rows equal or complementary (q and −q), columns equal.
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

/// Nothing if it would take more than 2^30 bits. Linear in the nonzeros and the bits. Kinds are
/// told apart by hashes of 128 bits: a collision would lose a row or a column, and nothing is
/// claimed from what is lost, for refutations name rows and columns of the pattern and witnesses
/// are verified on all of it.
std::optional<SignMatrix> sign_matrix(const Pattern& pattern);

/// One side of the matrix: for each element, a column or a row, the bits of the cuts, rows or
/// columns.
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
