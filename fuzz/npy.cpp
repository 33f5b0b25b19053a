// Reads a .npy file as an array, then as a pattern.
#include "lab/io/parsers.h"
#include "lab/pattern/parsers.h"
#include "target.h"

void fuzz_one(std::span<const std::byte> bytes) {
  const auto source = tamis::core::memory_source("input", bytes);
  (void)tamis::lab::io::parse_npy(*source).to_f32();
  (void)tamis::lab::pattern::parse_npy_pattern(*source);
}
