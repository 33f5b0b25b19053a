// Opens a safetensors file and reads every tensor in it.
#include "lab/io/parsers.h"
#include "target.h"

void fuzz_one(std::span<const std::byte> bytes) {
  const tamis::lab::SafetensorsFile file =
      tamis::lab::io::open_safetensors(tamis::core::memory_source("input", bytes));
  for (const tamis::lab::TensorInfo& info : file.tensors()) (void)file.read(info.name).to_f64();
}
