// Opens a safetensors file and reads every tensor in it.
#include "io/parsers.h"
#include "target.h"

void fuzz_one(std::span<const std::byte> bytes) {
  const tamis::SafetensorsFile file = tamis::open_safetensors(tamis::memory_source("input", bytes));
  for (const tamis::TensorInfo& info : file.tensors()) (void)file.read(info.name).to_f64();
}
