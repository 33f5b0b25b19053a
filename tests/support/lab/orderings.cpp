#include "support/lab/orderings.h"

#include <algorithm>
#include <numeric>

namespace tamis::test {
namespace {

using Choices = std::vector<RowSets>;  // for each row, the sets that it may be

/// Adds the first 1, …, n columns by descending logit q·key.
void add_upper_sets(double q, const std::vector<double>& key, RowSets& sets) {
  std::vector<std::size_t> order(key.size());
  std::iota(order.begin(), order.end(), 0);
  std::ranges::sort(order, [&](std::size_t a, std::size_t b) { return q * key[a] > q * key[b]; });
  std::uint32_t set = 0;
  for (const std::size_t j : order) sets.push_back(set |= 1U << j);
}

void mark(const Choices& choices, std::size_t row, std::uint32_t matrix,
          std::vector<bool>& realised) {
  if (row == choices.size()) {
    realised[matrix] = true;
    return;
  }
  for (const std::uint32_t set : choices[row])
    mark(choices, row + 1, matrix | set << (row * choices.size()), realised);
}

}  // namespace

std::vector<bool> realised_by_orderings(int n, bool tied) {
  std::vector<bool> realised(std::size_t{1} << (n * n));
  std::vector<int> place(static_cast<std::size_t>(n));
  std::iota(place.begin(), place.end(), 0);
  do {
    for (int negative = 0; negative <= (tied ? n : 0); ++negative) {
      std::vector<double> x;
      for (const int p : place) x.push_back(p - negative + 0.5);
      for (const double c : {1.0, -1.0}) {
        Choices choices(static_cast<std::size_t>(n));
        for (std::size_t i = 0; i < choices.size(); ++i) {
          const std::vector<double> queries = tied ? std::vector{c * x[i]} : std::vector{1.0, -1.0};
          for (const double q : queries) add_upper_sets(q, x, choices[i]);
        }
        mark(choices, 0, 0, realised);
      }
    }
  } while (std::ranges::next_permutation(place).found);
  return realised;
}

bool fits_on_a_line(const lab::Pattern& pattern) {
  RowSets rows;
  for (std::int64_t i = 0; i < pattern.rows; ++i) {
    std::uint32_t& row = rows.emplace_back(0);
    for (const std::int64_t j : pattern.columns_of(i)) row |= 1U << j;
  }
  std::vector<double> key(static_cast<std::size_t>(pattern.cols));
  std::iota(key.begin(), key.end(), 0.0);
  do {
    RowSets sets;
    for (const double q : {1.0, -1.0}) add_upper_sets(q, key, sets);
    if (std::ranges::all_of(
            rows, [&](std::uint32_t row) { return std::ranges::find(sets, row) != sets.end(); }))
      return true;
  } while (std::ranges::next_permutation(key).found);
  return false;
}

RowSets rows_of(std::uint32_t matrix, int n) {
  RowSets rows;
  for (int i = 0; i < n; ++i) rows.push_back((matrix >> (i * n)) & ((1U << n) - 1));
  return rows;
}

}  // namespace tamis::test
