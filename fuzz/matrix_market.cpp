// Reads a Matrix Market file, and finds the kinds of its columns: as many as nonzeros, and one of empty
// ones.
#include <algorithm>

#include "io/parsers.h"
#include "realise/column_kinds.h"
#include "target.h"

void fuzz_one(std::span<const std::byte> bytes) {
  const tamis::Pattern pattern = tamis::parse_matrix_market(*tamis::memory_source("input", bytes));
  const tamis::ColumnKinds kinds = tamis::column_kinds(pattern, false);
  if (kinds.pattern.cols > std::min(pattern.cols, pattern.nonzeros() + 1)) __builtin_trap();
  if (tamis::column_kinds(pattern, true).pattern.cols > kinds.pattern.cols) __builtin_trap();
}
