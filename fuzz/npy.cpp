// Reads a .npy file as an array, then as a pattern.
#include "io/parsers.h"
#include "target.h"

void fuzz_one(std::span<const std::byte> bytes) {
  const auto source = tamis::memory_source("input", bytes);
  (void)tamis::parse_npy(*source).to_f32();
  (void)tamis::parse_npy_pattern(*source);
}
