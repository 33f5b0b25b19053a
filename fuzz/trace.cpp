// Opens a trace and reads all that each layer says it has.
#include <tamis/trace.h>
#include "io/parsers.h"
#include "target.h"

void fuzz_one(std::span<const std::byte> bytes) {
  const tamis::Trace trace(tamis::open_safetensors(tamis::memory_source("input", bytes)));
  for (const tamis::TraceLayer& layer : trace.layers()) {
    (void)trace.read(layer);
    if (layer.has_weights) (void)trace.read_weights(layer);
    if (layer.has_weight_norms) (void)trace.read_weight_norms(layer);
  }
}
