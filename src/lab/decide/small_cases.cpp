#include "lab/decide/small_cases.h"

#include <algorithm>
#include <cmath>
#include <set>

namespace tamis::lab::decision {
namespace {

using Bits = std::vector<bool>;

/// The first vector of `length` bits, in counting order, that is not in `taken`; bit 0 stays unset
/// if `half`. At most taken.size() vectors are passed over. Nothing if all are taken.
std::optional<Bits> not_among(const std::set<Bits>& taken, std::size_t length, bool half) {
  Bits bits(length);
  const std::size_t first = half ? 1 : 0;
  for (;;) {
    if (!taken.contains(bits)) return bits;
    std::size_t i = first;
    while (i < length && bits[i]) bits[i++] = false;
    if (i == length) return std::nullopt;
    bits[i] = true;
  }
}

/// The splits that the rows make, relative to column 0, that of the row of ones included.
std::set<Bits> splits_of(const SignMatrix& signs) {
  std::set<Bits> splits;
  for (std::int64_t row = 0; row < signs.rows; ++row) {
    Bits split;
    for (std::int64_t col = 0; col < signs.cols; ++col)
      split.push_back(signs.at(row, col) != signs.at(row, 0));
    splits.insert(std::move(split));
  }
  return splits;
}

/// Simplices around zero, one for each part, in coordinates of their own. Vertex i of a part of
/// size s has in coordinate t < s − 1 the value 1 if i ≤ t, −(t + 1) if i = t + 1, else 0; each
/// coordinate is then scaled to length 1.
Keys simplices(const std::vector<std::vector<std::size_t>>& parts, std::size_t columns) {
  Keys keys;
  for (const auto& part : parts) keys.dim += static_cast<std::int64_t>(part.size()) - 1;
  const auto dim = static_cast<std::size_t>(keys.dim);
  keys.k.assign(columns * dim, 0.0);
  std::size_t at = 0;
  for (const auto& part : parts) {
    for (std::size_t t = 0; t + 1 < part.size(); ++t, ++at) {
      const double length = std::sqrt(static_cast<double>((t + 1) * (t + 2)));
      for (std::size_t i = 0; i <= t; ++i) keys.k[part[i] * dim + at] = 1 / length;
      keys.k[part[t + 1] * dim + at] = -static_cast<double>(t + 1) / length;
    }
  }
  return keys;
}

/// Expands keys of kinds of columns to the pattern's columns.
Keys spread_out(Keys keys, const SignMatrix& signs) {
  const auto dim = static_cast<std::size_t>(keys.dim);
  std::vector<double> all;
  all.reserve(signs.kind_of.size() * dim);
  for (const std::int64_t kind : signs.kind_of) {
    const auto from = keys.k.begin() + kind * keys.dim;
    all.insert(all.end(), from, from + keys.dim);
  }
  keys.k = std::move(all);
  return keys;
}

}  // namespace

Keys keys_of_few_columns(const SignMatrix& signs) {
  const auto columns = static_cast<std::size_t>(signs.cols);
  std::vector<std::vector<std::size_t>> parts(1);
  const std::optional<Bits> uncut = not_among(splits_of(signs), columns, true);
  if (uncut) parts.emplace_back();
  for (std::size_t col = 0; col < columns; ++col)
    parts[uncut && (*uncut)[col] ? 1 : 0].push_back(col);
  Keys keys = simplices(parts, columns);
  if (keys.dim == 0) keys = {1, std::vector<double>(columns, 0.0)};
  return spread_out(std::move(keys), signs);
}

std::optional<Keys> keys_of_few_rows(const SignMatrix& signs) {
  constexpr std::int64_t most_rows = 4096;
  const auto rows = static_cast<std::size_t>(signs.rows) - 1;  // without the row of ones
  const auto columns = static_cast<std::size_t>(signs.cols);
  if (rows < 1 || signs.rows > most_rows) return std::nullopt;
  std::set<Bits> taken;
  std::vector<Bits> column(columns, Bits(rows));
  for (std::size_t col = 0; col < columns; ++col) {
    for (std::size_t row = 0; row < rows; ++row)
      column[col][row] =
          signs.at(static_cast<std::int64_t>(row) + 1, static_cast<std::int64_t>(col));
    taken.insert(column[col]);
  }
  const std::optional<Bits> missing = not_among(taken, rows, false);
  Keys keys{static_cast<std::int64_t>(missing && rows > 1 ? rows - 1 : rows), {}};
  for (std::size_t col = 0; col < columns; ++col) {
    // Coordinates are ±1 where the column agrees with the missing one and larger where it does not,
    // such that the sum of coordinate times sign of the missing column is −1 for every column. The
    // last row is then an affine function of the others.
    std::size_t differing = 0;
    for (std::size_t row = 0; missing && row < rows; ++row)
      differing += column[col][row] != (*missing)[row] ? 1 : 0;
    const double disagree =
        differing > 0 ? static_cast<double>(rows - differing + 1) / static_cast<double>(differing)
                      : 1;
    for (std::size_t row = 0; row < static_cast<std::size_t>(keys.dim); ++row) {
      const double size = missing && column[col][row] != (*missing)[row] ? disagree : 1;
      keys.k.push_back(column[col][row] ? size : -size);
    }
  }
  return spread_out(std::move(keys), signs);
}

/// Keys are unit vectors, and zero for the last kind; a query is +1 at its nonzeros and −1
/// elsewhere. Logits are then ±1, or 0 for the last kind, which is below the nonzeros of a row or
/// above its zeros, whichever the row needs.
std::optional<realisation::Candidate> simplex_with_queries(const Pattern& pattern,
                                                           const SignMatrix& signs) {
  const std::int64_t dim = std::max<std::int64_t>(signs.cols - 1, 1);
  constexpr std::int64_t most_numbers = std::int64_t{1} << 26;
  if (pattern.rows > most_numbers / dim || pattern.cols > most_numbers / dim) return std::nullopt;
  realisation::Candidate candidate{
      pattern.rows, pattern.cols, dim,
      std::vector<double>(static_cast<std::size_t>(pattern.rows * dim), -1.0),
      std::vector<double>(static_cast<std::size_t>(pattern.cols * dim))};
  for (std::int64_t column = 0; column < pattern.cols; ++column) {
    const std::int64_t kind = signs.kind_of[static_cast<std::size_t>(column)];
    if (kind < dim) candidate.k[static_cast<std::size_t>(column * dim + kind)] = 1;
  }
  for (std::int64_t row = 0; row < pattern.rows; ++row)
    for (const std::int64_t column : pattern.columns_of(row)) {
      const std::int64_t kind = signs.kind_of[static_cast<std::size_t>(column)];
      if (kind < dim) candidate.q[static_cast<std::size_t>(row * dim + kind)] = 1;
    }
  return candidate;
}

}  // namespace tamis::lab::decision
