#include "lab/realise/column_kinds.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <numeric>
#include <span>
#include <utility>

namespace tamis::lab::realisation {
namespace {

/// The columns that hold a nonzero, each with its rows and values in the order of the rows.
struct ByColumn {
  std::vector<std::int64_t> filled;
  /// For every nonzero of the pattern, its column's index in `filled`.
  std::vector<std::size_t> place;
  std::vector<std::size_t> start;  ///< filled + 1 offsets into `row` and `value`
  std::vector<std::int64_t> row;
  std::vector<double> value;

  explicit ByColumn(const Pattern& pattern) : filled(pattern.column) {
    std::ranges::sort(filled);
    filled.erase(std::unique(filled.begin(), filled.end()), filled.end());
    start.assign(filled.size() + 1, 0);
    for (const std::int64_t column : pattern.column) {
      place.push_back(
          static_cast<std::size_t>(std::ranges::lower_bound(filled, column) - filled.begin()));
      ++start[place.back() + 1];
    }
    std::partial_sum(start.begin(), start.end(), start.begin());
    row.resize(place.size());
    value.resize(place.size());
    std::vector<std::size_t> next(start.begin(), start.end() - 1);
    std::size_t nonzero = 0;
    for (std::int64_t i = 0; i < pattern.rows; ++i)
      for (const double entry : pattern.values_of(i)) {
        const std::size_t at = next[place[nonzero++]]++;
        row[at] = i;
        value[at] = entry;
      }
  }

  [[nodiscard]] std::span<const std::int64_t> rows_of(std::size_t column) const {
    return std::span(row).subspan(start[column], start[column + 1] - start[column]);
  }
  [[nodiscard]] std::span<const double> values_of(std::size_t column) const {
    return std::span(value).subspan(start[column], start[column + 1] - start[column]);
  }
};

/// For each filled column, the first filled column that is equal to it.
std::vector<std::size_t> first_equals(const ByColumn& columns, bool weak) {
  const auto same = [&](std::size_t a, std::size_t b) {
    return std::ranges::equal(columns.rows_of(a), columns.rows_of(b)) &&
           (weak || std::ranges::equal(columns.values_of(a), columns.values_of(b)));
  };
  const auto before = [&](std::size_t a, std::size_t b) {
    if (same(a, b)) return a < b;
    return std::ranges::equal(columns.rows_of(a), columns.rows_of(b))
               ? std::ranges::lexicographical_compare(columns.values_of(a), columns.values_of(b))
               : std::ranges::lexicographical_compare(columns.rows_of(a), columns.rows_of(b));
  };
  std::vector<std::size_t> sorted(columns.filled.size());
  std::iota(sorted.begin(), sorted.end(), std::size_t{0});
  std::ranges::sort(sorted, before);
  std::vector<std::size_t> first(sorted.size());
  for (std::size_t i = 0; i < sorted.size(); ++i) {
    const bool again = i > 0 && same(sorted[i - 1], sorted[i]);
    first[sorted[i]] = again ? first[sorted[i - 1]] : sorted[i];
  }
  return first;
}

/// The first column without a nonzero, or the number of columns if there is none.
std::int64_t first_empty(const std::vector<std::int64_t>& filled) {
  std::int64_t column = 0;
  while (column < std::ssize(filled) && filled[static_cast<std::size_t>(column)] == column)
    ++column;
  return column;
}

template <class T>
Tensor spread_rows(const Tensor& keys, const ColumnKinds& kinds) {
  const std::int64_t dim = keys.info().shape[1];
  Tensor all({keys.info().name, keys.info().dtype, {kinds.cols, dim}});
  const auto* from = reinterpret_cast<const T*>(keys.bytes().data());
  auto* to = reinterpret_cast<T*>(all.bytes().data());
  const std::int64_t empty =
      std::ranges::lower_bound(kinds.first, first_empty(kinds.filled)) - kinds.first.begin();
  std::size_t next = 0;
  for (std::int64_t column = 0; column < kinds.cols; ++column) {
    const bool filled = next < kinds.filled.size() && kinds.filled[next] == column;
    std::copy_n(from + (filled ? kinds.kind[next++] : empty) * dim, dim, to + column * dim);
  }
  return all;
}

}  // namespace

ColumnKinds column_kinds(const Pattern& pattern, bool weak) {
  const ByColumn columns(pattern);
  const std::vector<std::size_t> first = first_equals(columns, weak);
  ColumnKinds kinds;
  kinds.cols = pattern.cols;
  const std::int64_t empty = first_empty(columns.filled);
  for (std::int64_t i = 0; i <= std::ssize(first); ++i) {
    if (i == empty && empty < pattern.cols) kinds.first.push_back(empty);
    if (i == std::ssize(first)) break;
    const auto equal = static_cast<std::int64_t>(first[static_cast<std::size_t>(i)]);
    if (equal == i) kinds.first.push_back(columns.filled[static_cast<std::size_t>(i)]);
    kinds.kind.push_back(equal == i ? std::ssize(kinds.first) - 1
                                    : kinds.kind[static_cast<std::size_t>(equal)]);
  }

  Pattern& merged = kinds.pattern;
  merged.rows = pattern.rows;
  merged.cols = std::ssize(kinds.first);
  merged.row_start.push_back(0);
  std::size_t nonzero = 0;
  for (std::int64_t row = 0; row < pattern.rows; ++row) {
    for (const double value : pattern.values_of(row)) {
      const std::size_t place = columns.place[nonzero++];
      if (first[place] != place) continue;
      merged.column.push_back(kinds.kind[place]);
      merged.value.push_back(value);
    }
    merged.row_start.push_back(merged.nonzeros());
  }
  kinds.filled = columns.filled;
  return kinds;
}

Witness spread(Witness witness, const ColumnKinds& kinds) {
  if (kinds.merge())
    witness.k = witness.k.info().dtype == DType::f32 ? spread_rows<float>(witness.k, kinds)
                                                     : spread_rows<double>(witness.k, kinds);
  return witness;
}

std::string too_many_keys(const Pattern& pattern, std::int64_t dim, DType dtype) {
  constexpr std::int64_t columns_per_nonzero = 16;
  constexpr double most_bytes = 1 << 28;
  const double bytes = static_cast<double>(pattern.cols) * static_cast<double>(dim) *
                       static_cast<double>(size_of(dtype));
  if (bytes <= most_bytes || pattern.cols / columns_per_nonzero <= pattern.nonzeros() ||
      !pattern.column_names.empty())
    return {};
  return fmt::format(
      "the pattern has {} columns and only {} nonzeros, and a witness of dimension {} has a key "
      "for every column, which would take {:.1f} GiB; leave out all empty columns but one, whose "
      "key does for them all",
      pattern.cols, pattern.nonzeros(), dim, bytes / (1 << 30));
}

}  // namespace tamis::lab::realisation
