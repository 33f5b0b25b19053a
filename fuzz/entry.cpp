// The entry point for libFuzzer, the same for every target.
#include <cstdint>

#include <tamis/error.h>
#include "target.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  try {
    fuzz_one(std::as_bytes(std::span(data, size)));
  } catch (const tamis::Error&) {
  }
  return 0;
}
