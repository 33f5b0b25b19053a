// Opens a witness and, where one of its forms is small, verifies it against a diagonal.
#include <tamis/verify.h>
#include "io/parsers.h"
#include "io/witness_checks.h"
#include "target.h"

void fuzz_one(std::span<const std::byte> bytes) {
  const tamis::Witness witness =
      tamis::witness_in(tamis::open_safetensors(tamis::memory_source("input", bytes)));
  const tamis::Tensor& rows = witness.has_queries() ? witness.q : witness.x;
  const tamis::Tensor& columns = witness.has_queries() ? witness.k : witness.x;
  tamis::Pattern pattern;
  pattern.rows = rows.info().shape[0];
  pattern.cols = columns.info().shape[0];
  if (pattern.rows > 64 || pattern.cols > 64) return;
  pattern.row_start.push_back(0);
  for (std::int64_t i = 0; i < pattern.rows; ++i) {
    pattern.column.push_back(i < pattern.cols ? i : 0);
    pattern.value.push_back(1);
    pattern.row_start.push_back(i + 1);
  }
  (void)tamis::verify(pattern, witness, witness.made_for, 1);
}
