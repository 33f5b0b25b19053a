// Writes a safetensors file in pieces, for tensors that do not lie in one array.
#pragma once

#include <span>
#include <string>

#include <tamis/lab/tensor.h>
#include "core/atomic_file.h"

namespace tamis::lab::io {

/// A writer that is destroyed without `commit` leaves no file behind.
class SafetensorsWriter {
 public:
  /// Throws `usage` for names or metadata that the format cannot hold, before any file is made.
  SafetensorsWriter(const std::string& path, std::span<const TensorInfo> tensors,
                    const Metadata& metadata);
  /// Appends to the data, which are the bytes of all tensors in the order given, without gaps.
  void write(std::span<const std::byte> bytes) { file_.write(bytes); }
  void commit() { file_.commit(); }

 private:
  std::string header_;
  core::AtomicFile file_;
};

}  // namespace tamis::lab::io
