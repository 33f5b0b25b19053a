// Reads a Matrix Market file.
#include "io/parsers.h"
#include "target.h"

void fuzz_one(std::span<const std::byte> bytes) {
  (void)tamis::parse_matrix_market(*tamis::memory_source("input", bytes));
}
