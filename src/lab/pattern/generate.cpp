// Generates regular and random patterns. Time and memory are proportional to the nonzeros; memory
// is 16 bytes for each of them and 8 for every row.
#include <tamis/lab/generate.h>

#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <optional>

#include "core/fail.h"
#include "lab/numbers/random.h"

namespace tamis::lab {
namespace {

void expect_size(std::int64_t n) {
  if (n < 1) core::fail(Code::usage, "a pattern of n = {} was asked for; n must be at least 1", n);
}

void expect_random(std::int64_t n, std::int64_t k, double gamma) {
  expect_size(n);
  if (k < 1 || k > n)
    core::fail(Code::usage, "k = {} nonzeros per row were asked for; k must be from 1 to n = {}", k,
               n);
  if (!(gamma >= 1 && std::isfinite(gamma)))
    core::fail(Code::usage, "gamma = {} was asked for; it must be finite and at least 1", gamma);
  // Draws of one stream are counted in 32 bits.
  if (n > std::int64_t{1} << 31)
    core::fail(Code::usage, "n = {} was asked for; random patterns have at most 2^31 columns", n);
}

/// a·b, or nothing if it overflows.
std::optional<std::int64_t> product(std::int64_t a, std::int64_t b) {
  std::int64_t result = 0;
  return __builtin_mul_overflow(a, b, &result) ? std::nullopt : std::optional(result);
}

/// An empty pattern with memory reserved for its rows and nonzeros; `nonzeros` is empty if their
/// number overflows. Throws `usage`, before anything is allocated, if the pattern would not fit the
/// machine's memory.
Pattern make_room(std::int64_t rows, std::int64_t cols, std::optional<std::int64_t> nonzeros) {
  const double bytes =
      8.0 * static_cast<double>(rows) + 16.0 * (nonzeros ? static_cast<double>(*nonzeros) : 0x1p63);
  const double memory =
      static_cast<double>(sysconf(_SC_PHYS_PAGES)) * static_cast<double>(sysconf(_SC_PAGE_SIZE));
  if (bytes > memory)
    core::fail(Code::usage,
               "the pattern of {} × {} that was asked for takes {:.3g} GiB or more; this machine "
               "has {:.3g} GiB of memory, so ask for a smaller one",
               rows, cols, bytes / 0x1p30, memory / 0x1p30);
  Pattern pattern;
  pattern.rows = rows;
  pattern.cols = cols;
  pattern.row_start.reserve(static_cast<std::size_t>(rows) + 1);
  pattern.row_start.push_back(0);
  pattern.column.reserve(static_cast<std::size_t>(*nonzeros));
  pattern.value.reserve(static_cast<std::size_t>(*nonzeros));
  return pattern;
}

/// Appends a row with ones in the columns first … last.
void add_ones(Pattern& pattern, std::int64_t first, std::int64_t last) {
  for (std::int64_t j = first; j <= last; ++j) pattern.column.push_back(j);
  pattern.value.resize(pattern.column.size(), 1);
  pattern.row_start.push_back(pattern.nonzeros());
}

/// Appends a row with nonzeros of value 1 or γ in the given columns, which may come in any order
/// and repeat. The s-th column in ascending order uses draw `first_draw` + s.
void add_coins(Pattern& pattern, std::vector<std::int64_t>& columns, double gamma,
               const numbers::Stream& stream, std::uint32_t first_draw) {
  std::ranges::sort(columns);
  columns.erase(std::unique(columns.begin(), columns.end()), columns.end());
  for (const std::int64_t column : columns) {
    pattern.column.push_back(column);
    pattern.value.push_back(stream.bits(first_draw++) >> 63 != 0 ? gamma : 1);
  }
  pattern.row_start.push_back(pattern.nonzeros());
}

/// A random permutation of 0 … n − 1, each with the same probability (Fisher and Yates).
std::vector<std::int64_t> permutation(std::int64_t n, const numbers::Stream& stream) {
  std::vector<std::int64_t> order(static_cast<std::size_t>(n));
  std::iota(order.begin(), order.end(), 0);
  for (std::size_t i = order.size(); i-- > 1;)
    std::swap(order[i], order[stream.below(i + 1, static_cast<std::uint32_t>(i))]);
  return order;
}

}  // namespace

Pattern permutations_pattern(std::int64_t n, std::int64_t k, double gamma, std::uint64_t seed) {
  expect_random(n, k, gamma);
  // The permutations take 8 bytes per nonzero in addition to the pattern.
  Pattern pattern = make_room(n, n, product(n, k));
  std::vector<std::vector<std::int64_t>> permutations;
  // Rows 0 … k − 1 of the stream are the permutations, row k + i holds the coins of row i.
  for (std::int64_t p = 0; p < k; ++p)
    permutations.push_back(permutation(
        n, numbers::Stream(seed, numbers::Purpose::pattern, static_cast<std::uint64_t>(p))));
  std::vector<std::int64_t> columns;
  for (std::int64_t i = 0; i < n; ++i) {
    columns.clear();
    for (const auto& order : permutations) columns.push_back(order[static_cast<std::size_t>(i)]);
    add_coins(pattern, columns, gamma,
              numbers::Stream(seed, numbers::Purpose::pattern, static_cast<std::uint64_t>(k + i)),
              0);
  }
  return pattern;
}

Pattern causal_pattern(std::int64_t n, std::int64_t k, double gamma, std::uint64_t seed) {
  expect_random(n, k, gamma);
  Pattern pattern = make_room(n, n, product(n, k));
  std::vector<char> taken(static_cast<std::size_t>(n));
  std::vector<std::int64_t> columns;
  for (std::int64_t i = 0; i < n; ++i) {
    const numbers::Stream stream(seed, numbers::Purpose::pattern, static_cast<std::uint64_t>(i));
    columns.clear();
    // Floyd's sampling gives every subset of that size the same probability.
    for (std::int64_t top = std::max<std::int64_t>(0, i + 1 - k); top <= i; ++top) {
      const auto draw = static_cast<std::uint32_t>(columns.size());
      auto column =
          static_cast<std::int64_t>(stream.below(static_cast<std::uint64_t>(top) + 1, draw));
      if (taken[static_cast<std::size_t>(column)] != 0) column = top;
      taken[static_cast<std::size_t>(column)] = 1;
      columns.push_back(column);
    }
    for (const std::int64_t column : columns) taken[static_cast<std::size_t>(column)] = 0;
    add_coins(pattern, columns, gamma, stream, static_cast<std::uint32_t>(k));
  }
  return pattern;
}

Pattern banded_pattern(std::int64_t n, std::int64_t reach, bool causal) {
  expect_size(n);
  if (reach < 0)
    core::fail(Code::usage, "a band of reach {} was asked for; it must be at least 0", reach);
  reach = std::min(reach, n - 1);
  Pattern pattern = make_room(n, n,
                              product(n, causal          ? reach + 1
                                         : reach < n / 2 ? 2 * reach + 1
                                                         : n));
  for (std::int64_t i = 0; i < n; ++i)
    add_ones(pattern, std::max<std::int64_t>(0, i - reach),
             causal ? i : std::min(n - 1, i + reach));
  return pattern;
}

Pattern block_pattern(std::int64_t n, std::int64_t size, bool causal) {
  expect_size(n);
  if (size < 1)
    core::fail(Code::usage, "blocks of {} were asked for; a block has at least 1 index", size);
  size = std::min(size, n);
  Pattern pattern = make_room(n, n, product(n, size));
  for (std::int64_t i = 0; i < n; ++i) {
    const std::int64_t first = i / size * size;
    add_ones(pattern, first, causal ? i : std::min(n, first + size) - 1);
  }
  return pattern;
}

Pattern pairs_pattern(std::int64_t n) {
  if (n < 2)
    core::fail(Code::usage, "the pairs of n = {} columns were asked for; n must be at least 2", n);
  const auto ordered = product(n, n - 1);
  if (!ordered) return make_room(n, n, std::nullopt);  // throws
  Pattern pattern = make_room(*ordered / 2, n, *ordered);
  for (std::int64_t i = 0; i < n; ++i)
    for (std::int64_t j = i + 1; j < n; ++j) {
      pattern.column.insert(pattern.column.end(), {i, j});
      pattern.row_start.push_back(pattern.nonzeros());
    }
  pattern.value.assign(pattern.column.size(), 1);
  return pattern;
}

}  // namespace tamis::lab
