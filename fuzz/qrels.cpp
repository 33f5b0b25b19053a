// Reads TREC qrels, without their empty topics and whole.
#include "io/parsers.h"
#include "target.h"

void fuzz_one(std::span<const std::byte> bytes) {
  const auto source = tamis::memory_source("input", bytes);
  (void)tamis::parse_qrels(*source, tamis::EmptyTopics::drop);
  (void)tamis::parse_qrels(*source);
}
