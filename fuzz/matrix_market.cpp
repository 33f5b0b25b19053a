// Reads a Matrix Market file and groups its columns into kinds. There may be at most one kind for
// each nonzero and one for empty columns.
#include <algorithm>

#include "lab/pattern/parsers.h"
#include "lab/realise/column_kinds.h"
#include "target.h"

void fuzz_one(std::span<const std::byte> bytes) {
  const tamis::lab::Pattern pattern =
      tamis::lab::pattern::parse_matrix_market(*tamis::core::memory_source("input", bytes));
  const tamis::lab::realisation::ColumnKinds kinds =
      tamis::lab::realisation::column_kinds(pattern, false);
  if (kinds.pattern.cols > std::min(pattern.cols, pattern.nonzeros() + 1)) __builtin_trap();
  if (tamis::lab::realisation::column_kinds(pattern, true).pattern.cols > kinds.pattern.cols)
    __builtin_trap();
}
