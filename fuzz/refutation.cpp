// Reads a refutation, checks that writing and reading it again preserves it, and checks it against
// two small patterns: all pairs of six columns, and a square pattern with a sign conflict.
#include <string>
#include <vector>

#include "lab/verify/refutation_file.h"
#include "target.h"

namespace {

tamis::lab::Pattern pattern_of(std::int64_t cols,
                               const std::vector<std::vector<std::int64_t>>& rows) {
  tamis::lab::Pattern pattern;
  pattern.rows = static_cast<std::int64_t>(rows.size());
  pattern.cols = cols;
  pattern.row_start.push_back(0);
  for (const auto& row : rows) {
    pattern.column.insert(pattern.column.end(), row.begin(), row.end());
    pattern.value.resize(pattern.column.size(), 1);
    pattern.row_start.push_back(pattern.nonzeros());
  }
  return pattern;
}

}  // namespace

void fuzz_one(std::span<const std::byte> bytes) {
  const tamis::lab::Refutation refutation =
      tamis::lab::verification::parse_refutation(*tamis::core::memory_source("input", bytes));
  const std::string text = tamis::lab::refutation_text(refutation);
  const auto again = tamis::lab::verification::parse_refutation(
      *tamis::core::memory_source("text", std::as_bytes(std::span(text))));
  if (tamis::lab::refutation_text(again) != text) __builtin_trap();

  static const tamis::lab::Pattern pairs = [] {
    std::vector<std::vector<std::int64_t>> rows;
    for (std::int64_t i = 0; i < 6; ++i)
      for (std::int64_t j = i + 1; j < 6; ++j) rows.push_back({i, j});
    return pattern_of(6, rows);
  }();
  static const tamis::lab::Pattern conflict = pattern_of(3, {{2}, {1}, {1}});
  const tamis::lab::RefutationCheck of_pairs = tamis::lab::check_refutation(pairs, refutation);
  const tamis::lab::RefutationCheck of_conflict =
      tamis::lab::check_refutation(conflict, refutation);
  for (const auto* check : {&of_pairs, &of_conflict})
    if (check->holds != check->why.empty()) __builtin_trap();
  // These refutations would be wrong: the pairs of six have a witness of dimension 4, and the other
  // pattern has one of dimension 1 unless the hidden size is 1.
  if (of_pairs.holds && refutation.dim > 3) __builtin_trap();
  if (of_conflict.holds && (refutation.dim > 1 || refutation.hidden != 1)) __builtin_trap();
}
