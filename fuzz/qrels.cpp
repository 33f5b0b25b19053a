// Reads TREC qrels twice: once dropping topics without a relevant document, once refusing them.
#include "lab/pattern/parsers.h"
#include "target.h"

void fuzz_one(std::span<const std::byte> bytes) {
  const auto source = tamis::core::memory_source("input", bytes);
  (void)tamis::lab::pattern::parse_qrels(*source, tamis::lab::EmptyTopics::drop);
  (void)tamis::lab::pattern::parse_qrels(*source);
}
