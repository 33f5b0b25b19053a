// Reads TREC qrels.
#include "io/parsers.h"
#include "target.h"

void fuzz_one(std::span<const std::byte> bytes) {
  (void)tamis::parse_qrels(*tamis::memory_source("input", bytes));
}
