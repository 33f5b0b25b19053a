// Each row that does not hold all columns must be a set at one end of the line: direction +1 means
// the upper end, −1 the lower. The oriented set of a row is the row itself if its direction is +1,
// else the complement. The directions are right if and only if the oriented sets form a chain. Then
// query = direction and key j = Σ_i direction_i·S_ij are a witness, because up to a constant this
// sum is the number of oriented sets that hold j.
#include "lab/decide/line/line.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "core/fail.h"
#include "lab/decide/line/row_relation.h"
#include "lab/realise/seal.h"

namespace tamis::lab::decision {
namespace {

/// Integers up to this are exact in f32.
constexpr std::int64_t whole_in_f32 = std::int64_t{1} << 24;

std::int64_t size_of_row(const Pattern& pattern, std::int64_t row) {
  return pattern.row_start[row + 1] - pattern.row_start[row];
}
bool is_full(const Pattern& pattern, std::int64_t row) {
  return size_of_row(pattern, row) == pattern.cols;
}

// The direction of each row: +1 or −1; 0 for rows that hold all columns.
using Directions = std::vector<std::int8_t>;

/// The directions relative to row `first`, which are the only possible ones; or a row that crosses
/// it.
std::variant<Directions, OddCircle> orient(const Pattern& pattern, std::int64_t first) {
  Directions direction(static_cast<std::size_t>(pattern.rows), 0);
  std::vector<std::int8_t> in_first(static_cast<std::size_t>(pattern.cols), 0);
  for (const std::int64_t column : pattern.columns_of(first)) in_first[column] = 1;
  const std::int64_t size_first = size_of_row(pattern, first);
  for (std::int64_t row = first; row < pattern.rows; ++row) {
    if (is_full(pattern, row)) continue;
    const std::int64_t size = size_of_row(pattern, row);
    std::int64_t both = 0;
    for (const std::int64_t column : pattern.columns_of(row)) both += in_first[column];
    const bool nested = both == std::min(size, size_first);
    const bool same = both > 0 && size + size_first - both < pattern.cols;
    if (same && !nested)
      return OddCircle{
          {relation_of(pattern, first, row, true), relation_of(pattern, row, first, false)}};
    direction[row] = same ? 1 : -1;
  }
  return direction;
}

std::int64_t oriented_size(const Pattern& pattern, const Directions& direction, std::int64_t row) {
  const std::int64_t size = size_of_row(pattern, row);
  return direction[row] > 0 ? size : pattern.cols - size;
}

/// The rows that have a direction, by the size of their oriented sets: a counting sort.
std::vector<std::int64_t> by_oriented_size(const Pattern& pattern, const Directions& direction) {
  std::vector<std::int64_t> place(static_cast<std::size_t>(pattern.cols) + 1, 0);
  for (std::int64_t row = 0; row < pattern.rows; ++row)
    if (direction[row] != 0) ++place[oriented_size(pattern, direction, row)];
  std::int64_t rows = 0;
  for (std::int64_t& at : place) rows += std::exchange(at, rows);
  std::vector<std::int64_t> order(static_cast<std::size_t>(rows));
  for (std::int64_t row = 0; row < pattern.rows; ++row)
    if (direction[row] != 0) order[place[oriented_size(pattern, direction, row)]++] = row;
  return order;
}

/// Two consecutive rows whose oriented sets are not nested, if there are any. If all neighbours are
/// nested, the sets form a chain.
std::optional<std::pair<std::int64_t, std::int64_t>> break_of_chain(const Pattern& pattern,
                                                                    const Directions& direction) {
  std::vector<std::int64_t> last_seen(static_cast<std::size_t>(pattern.cols), -1);
  std::int64_t before = -1;
  for (const std::int64_t row : by_oriented_size(pattern, direction)) {
    std::int64_t both = 0;
    for (const std::int64_t column : pattern.columns_of(row)) {
      both += last_seen[column] == before ? 1 : 0;
      last_seen[column] = row;
    }
    if (before >= 0) {
      const std::int64_t size = size_of_row(pattern, row);
      const std::int64_t size_before = size_of_row(pattern, before);
      const std::int64_t in_both_oriented =
          direction[before] > 0
              ? (direction[row] > 0 ? both : size_before - both)
              : (direction[row] > 0 ? size - both : pattern.cols - size - size_before + both);
      if (in_both_oriented != oriented_size(pattern, direction, before))
        return std::pair(before, row);
    }
    before = row;
  }
  return std::nullopt;
}

std::vector<std::int64_t> keys_of(const Pattern& pattern, const Directions& direction) {
  std::vector<std::int64_t> key(static_cast<std::size_t>(pattern.cols), 0);
  for (std::int64_t row = 0; row < pattern.rows; ++row)
    if (direction[row] != 0)
      for (const std::int64_t column : pattern.columns_of(row)) key[column] += direction[row];
  return key;
}

Tensor column_of(const char* name, const std::vector<double>& values, std::int64_t largest) {
  return realisation::tensor_of(name, std::ssize(values), 1, values,
                                largest <= whole_in_f32 ? DType::f32 : DType::f64);
}

Witness free_witness(const Pattern& pattern, const Directions& direction) {
  const std::vector<std::int64_t> key = keys_of(pattern, direction);
  Witness witness;
  witness.q = column_of("q", {direction.begin(), direction.end()}, pattern.rows);
  witness.k = column_of("k", {key.begin(), key.end()}, pattern.rows);
  return witness;
}

/// The rows of one direction with the least and the largest key, where a row's key is that of the
/// column of the same number.
struct Reach {
  std::int64_t lowest = -1;  // row of the least key; −1 if there is no such row
  std::int64_t highest = -1;
};
Reach reach_of(const Directions& direction, const std::vector<std::int64_t>& key, int wanted) {
  Reach reach;
  for (std::int64_t row = 0; row < std::ssize(direction); ++row) {
    if (direction[row] != wanted) continue;
    if (reach.lowest < 0 || key[row] < key[reach.lowest]) reach.lowest = row;
    if (reach.highest < 0 || key[row] > key[reach.highest]) reach.highest = row;
  }
  return reach;
}

/// The witness with zero in the block of columns whose key is `zero`: x > 0 above the block, x < 0
/// below, and within it every x has the sign that its row needs. Numbers are at most twice the
/// rows.
Witness tied_witness(const Pattern& pattern, const Directions& direction,
                     const std::vector<std::int64_t>& key, std::int64_t zero, int sign_of_c) {
  std::vector<double> x(key.size());
  for (std::size_t j = 0; j < key.size(); ++j)
    x[j] = static_cast<double>(key[j] != zero ? 2 * (key[j] - zero) : sign_of_c * direction[j]);
  Witness witness;
  witness.x = column_of("x", x, 2 * pattern.rows);
  witness.w_q = column_of("w_q", {1.0}, 1);
  witness.w_k = column_of("w_k", {static_cast<double>(sign_of_c)}, 1);
  return witness;
}

/// The sign of c that follows from two columns with different keys whose rows have opposite
/// directions.
SignOfC sign_of_c(const Pattern& pattern, std::int64_t one, std::int64_t other) {
  for (std::int64_t row = 0; row < pattern.rows; ++row) {
    const auto columns = pattern.columns_of(row);
    const bool has_one = std::ranges::binary_search(columns, one);
    if (has_one == std::ranges::binary_search(columns, other)) continue;
    const std::int64_t a = has_one ? one : other;
    const std::int64_t b = has_one ? other : one;
    return {row, relation_of(pattern, a, b, false), relation_of(pattern, row, a)};
  }
  core::fail(Code::internal, "columns {} and {} of the pattern are equal", one, other);
}

/// Decides L = c·x_i·x_j. Given the chain, the sign of x_i is that of c times the direction of row
/// i. Some block must hold zero: for c > 0 it is below all rows of direction +1 and above all of
/// direction −1, or holds some of them; for c < 0 it is the other way round.
std::variant<Witness, Refutation> decide_tied(const Pattern& pattern, const Directions& direction) {
  const std::vector<std::int64_t> key = keys_of(pattern, direction);
  const Reach up = reach_of(direction, key, 1);
  const Reach down = reach_of(direction, key, -1);
  if (down.lowest < 0)
    return tied_witness(pattern, direction, key, up.lowest < 0 ? 0 : key[up.lowest], 1);
  if (key[up.lowest] >= key[down.highest])
    return tied_witness(pattern, direction, key, key[up.lowest], 1);
  if (key[up.highest] <= key[down.lowest])
    return tied_witness(pattern, direction, key, key[up.highest], -1);
  return Refutation{1, 1,
                    SignConflict{sign_of_c(pattern, up.highest, down.lowest),
                                 sign_of_c(pattern, up.lowest, down.highest)}};
}

}  // namespace

std::variant<Witness, Refutation> decide_line(const Pattern& pattern,
                                              std::optional<std::int64_t> hidden) {
  const bool tied = hidden == 1;
  if (tied && pattern.rows != pattern.cols)
    core::fail(Code::input, "the pattern is {} × {}; a hidden size is for square patterns",
               pattern.rows, pattern.cols);
  std::int64_t first = 0;
  while (first < pattern.rows && is_full(pattern, first)) ++first;
  Directions direction(static_cast<std::size_t>(pattern.rows), 0);
  if (first < pattern.rows) {
    auto oriented = orient(pattern, first);
    if (auto* crossing = std::get_if<OddCircle>(&oriented))
      return Refutation{1, std::nullopt, std::move(*crossing)};
    direction = std::move(std::get<Directions>(oriented));
  }
  if (const auto pair = break_of_chain(pattern, direction)) {
    const auto [a, b] = *pair;
    return Refutation{1, std::nullopt,
                      OddCircle{{relation_of(pattern, a, b, direction[a] != direction[b]),
                                 relation_of(pattern, b, first), relation_of(pattern, first, a)}}};
  }
  auto answer = tied ? decide_tied(pattern, direction)
                     : std::variant<Witness, Refutation>(free_witness(pattern, direction));
  if (auto* witness = std::get_if<Witness>(&answer)) {
    witness->made_for.weak = true;
    witness->made_by["method"] = "line";
  }
  return answer;
}

}  // namespace tamis::lab::decision
