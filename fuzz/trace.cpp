// Opens a trace and reads everything that each layer contains.
#include <tamis/lab/trace.h>
#include "lab/io/parsers.h"
#include "target.h"

void fuzz_one(std::span<const std::byte> bytes) {
  const tamis::lab::Trace trace(
      tamis::lab::io::open_safetensors(tamis::core::memory_source("input", bytes)));
  for (const tamis::lab::TraceLayer& layer : trace.layers()) {
    (void)trace.read(layer);
    if (layer.has_weights) (void)trace.read_weights(layer);
    if (layer.has_weight_norms) (void)trace.read_weight_norms(layer);
  }
}
