// Shared by the tests of refutations: patterns written as signs or bits, and patterns that
// planted keys produce.
#pragma once

#include <bit>
#include <cstdint>
#include <string>
#include <vector>

#include "support/lab/witnesses.h"

namespace tamis::test {

/// A pattern from rows written as strings such as "1010".
inline lab::Pattern pattern_of_rows(const std::vector<std::string>& rows) {
  Matrix matrix{
      static_cast<std::int64_t>(rows.size()), static_cast<std::int64_t>(rows.front().size()), {}};
  for (const std::string& row : rows)
    for (char c : row) matrix.values.push_back(c == '1' ? 1 : 0);
  return pattern_of(matrix);
}

/// A pattern from rows written as bits, lowest bit first. No row may be 0.
inline lab::Pattern pattern_of_bits(const std::vector<std::uint64_t>& rows, std::int64_t cols) {
  Matrix matrix{static_cast<std::int64_t>(rows.size()), cols, {}};
  for (std::uint64_t row : rows)
    for (std::int64_t j = 0; j < cols; ++j)
      matrix.values.push_back(static_cast<double>(row >> j & 1U));
  return pattern_of(matrix);
}

/// Each row is a random nonempty set of columns, every such set with equal probability.
inline lab::Pattern random_half(Dice& dice, std::int64_t rows, std::int64_t cols) {
  std::vector<std::uint64_t> bits;
  for (std::int64_t i = 0; i < rows; ++i)
    bits.push_back(1 + static_cast<std::uint64_t>(dice.below((std::int64_t{1} << cols) - 1)));
  return pattern_of_bits(bits, cols);
}

/// The rows of Sylvester's matrix, as bits; n is a power of two. Bit j of row i is 1 where i & j
/// has an even number of ones.
inline std::vector<std::uint64_t> hadamard_rows(std::uint64_t n) {
  std::vector<std::uint64_t> rows(n, 0);
  for (std::uint64_t i = 0; i < n; ++i)
    for (std::uint64_t j = 0; j < n; ++j)
      rows[i] |= std::uint64_t{std::popcount(i & j) % 2 == 0} << j;
  return rows;
}
inline lab::Pattern hadamard(std::int64_t n) {
  return pattern_of_bits(hadamard_rows(static_cast<std::uint64_t>(n)), n);
}

/// The pattern whose rows are all pairs of n columns.
inline lab::Pattern all_pairs(std::int64_t n) {
  std::vector<std::uint64_t> bits;
  for (std::int64_t a = 0; a < n; ++a)
    for (std::int64_t b = a + 1; b < n; ++b) bits.push_back(1ULL << a | 1ULL << b);
  return pattern_of_bits(bits, n);
}

/// Rows cut out by random halfspaces from random keys in R^dim, so that a witness of
/// `dim` columns exists.
inline lab::Pattern planted_halfspaces(Dice& dice, std::int64_t rows, std::int64_t cols,
                                       std::int64_t dim) {
  std::vector<double> keys(static_cast<std::size_t>(cols * dim));
  for (double& x : keys) x = dice.normal();
  std::vector<std::uint64_t> bits;
  while (static_cast<std::int64_t>(bits.size()) < rows) {
    std::uint64_t row = 0;
    const double threshold = 0.5 * dice.normal();
    std::vector<double> query(static_cast<std::size_t>(dim));
    for (double& x : query) x = dice.normal();
    for (std::int64_t j = 0; j < cols; ++j) {
      double logit = 0;
      for (std::int64_t t = 0; t < dim; ++t)
        logit += query[static_cast<std::size_t>(t)] * keys[static_cast<std::size_t>(j * dim + t)];
      if (logit > threshold) row |= 1ULL << j;
    }
    if (row != 0) bits.push_back(row);
  }
  return pattern_of_bits(bits, cols);
}

}  // namespace tamis::test
