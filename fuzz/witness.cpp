// Opens a witness and, if it has at most 64 rows and columns, verifies it
// against a diagonal pattern.
#include <tamis/lab/verify.h>
#include "lab/io/parsers.h"
#include "lab/verify/witness_checks.h"
#include "target.h"

void fuzz_one(std::span<const std::byte> bytes) {
  const tamis::lab::Witness witness = tamis::lab::verification::witness_in(
      tamis::lab::io::open_safetensors(tamis::core::memory_source("input", bytes)));
  const tamis::lab::Tensor& rows = witness.has_queries() ? witness.q : witness.x;
  const tamis::lab::Tensor& columns = witness.has_queries() ? witness.k : witness.x;
  tamis::lab::Pattern pattern;
  pattern.rows = rows.info().shape[0];
  pattern.cols = columns.info().shape[0];
  if (pattern.rows > 64 || pattern.cols > 64) return;
  pattern.row_start.push_back(0);
  for (std::int64_t i = 0; i < pattern.rows; ++i) {
    pattern.column.push_back(i < pattern.cols ? i : 0);
    pattern.value.push_back(1);
    pattern.row_start.push_back(i + 1);
  }
  (void)tamis::lab::verify(pattern, witness, witness.made_for, 1);
}
