#include "lab/decide/sign_matrix.h"

#include <algorithm>
#include <array>
#include <map>

#include "core/hash.h"

namespace tamis::lab::decision {
namespace {

constexpr std::int64_t most_bits = std::int64_t{1} << 30;
constexpr std::int64_t word_bits = 64;

std::int64_t words_for(std::int64_t bits) { return (bits + word_bits - 1) / word_bits; }

using Fingerprint = std::array<std::uint64_t, 2>;

Fingerprint fingerprint(const void* bytes, std::size_t size) {
  const XXH128_hash_t hash = XXH3_128bits(bytes, size);
  return {hash.low64, hash.high64};
}

/// A hash of the rows that hold each column: the sum of the hashes of their numbers.
std::vector<Fingerprint> column_hashes(const Pattern& pattern) {
  std::vector<Fingerprint> hashes(static_cast<std::size_t>(pattern.cols), Fingerprint{});
  for (std::int64_t row = 0; row < pattern.rows; ++row) {
    const Fingerprint hash = fingerprint(&row, sizeof row);
    for (const std::int64_t column : pattern.columns_of(row)) {
      hashes[static_cast<std::size_t>(column)][0] += hash[0];
      hashes[static_cast<std::size_t>(column)][1] += hash[1];
    }
  }
  return hashes;
}

void find_column_kinds(const Pattern& pattern, SignMatrix& signs) {
  const std::vector<Fingerprint> hashes = column_hashes(pattern);
  std::map<Fingerprint, std::int64_t> seen;
  for (std::int64_t column = 0; column < pattern.cols; ++column) {
    const auto [kind, is_new] =
        seen.try_emplace(hashes[static_cast<std::size_t>(column)], signs.cols);
    if (is_new) {
      ++signs.cols;
      signs.column_of.push_back(column);
    }
    signs.kind_of.push_back(kind->second);
  }
}

/// A hash that a row and its complement share: a row that holds column 0 is complemented first.
Fingerprint split_hash(std::vector<std::uint64_t> row, std::int64_t cols) {
  if ((row[0] & 1U) != 0) {
    for (std::uint64_t& word : row) word = ~word;
    if (cols % word_bits != 0) row.back() &= (std::uint64_t{1} << (cols % word_bits)) - 1;
  }
  return fingerprint(row.data(), row.size() * sizeof(std::uint64_t));
}

}  // namespace

std::optional<SignMatrix> sign_matrix(const Pattern& pattern) {
  SignMatrix signs;
  find_column_kinds(pattern, signs);
  signs.words = words_for(signs.cols);
  std::map<Fingerprint, std::int64_t> seen;
  const auto add = [&](std::int64_t row, const std::vector<std::uint64_t>& bits) {
    if (!seen.try_emplace(split_hash(bits, signs.cols), row).second) return true;
    if ((signs.rows + 1) * signs.words > most_bits / word_bits) return false;
    signs.bits.insert(signs.bits.end(), bits.begin(), bits.end());
    signs.row_of.push_back(row);
    ++signs.rows;
    return true;
  };
  std::vector<std::uint64_t> bits(static_cast<std::size_t>(signs.words));
  for (std::int64_t col = 0; col < signs.cols; ++col)
    bits[static_cast<std::size_t>(col / word_bits)] |= std::uint64_t{1} << (col % word_bits);
  add(ones_row, bits);
  for (std::int64_t row = 0; row < pattern.rows; ++row) {
    std::ranges::fill(bits, 0);
    for (const std::int64_t column : pattern.columns_of(row)) {
      const std::int64_t kind = signs.kind_of[static_cast<std::size_t>(column)];
      if (signs.column_of[static_cast<std::size_t>(kind)] != column) continue;
      bits[static_cast<std::size_t>(kind / word_bits)] |= std::uint64_t{1} << (kind % word_bits);
    }
    if (!add(row, bits)) return std::nullopt;
  }
  return signs;
}

Side side_of_rows(const SignMatrix& signs) {
  return {false, signs.rows, signs.cols, signs.words, signs.bits};
}

Side side_of_columns(const SignMatrix& signs) {
  Side side{true, signs.cols, signs.rows, words_for(signs.rows), {}};
  side.bits.resize(static_cast<std::size_t>(side.elements * side.words));
  for (std::int64_t row = 0; row < signs.rows; ++row)
    for (std::int64_t col = 0; col < signs.cols; ++col)
      if (signs.at(row, col))
        side.bits[static_cast<std::size_t>(col * side.words + row / word_bits)] |=
            std::uint64_t{1} << (row % word_bits);
  return side;
}

}  // namespace tamis::lab::decision
