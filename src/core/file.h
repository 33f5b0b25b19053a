// Bytes to parse, from a file or from memory. Parsers take a ByteSource, so that tests and fuzz
// targets need no files. Files are read with pread and never mapped, so that a file that shrinks
// while it is read is an error, not a crash.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "core/inside.h"

namespace tamis::core {

/// A fixed number of bytes with a name for messages. Safe to read from many threads.
class TAMIS_INSIDE ByteSource {
 public:
  virtual ~ByteSource();  // defined in file.cpp, so that only libtamis has the type's information
  ByteSource(const ByteSource&) = delete;
  ByteSource& operator=(const ByteSource&) = delete;

  [[nodiscard]] const std::string& name() const { return name_; }
  [[nodiscard]] std::int64_t size() const { return size_; }
  /// Fills `out` with the bytes from `offset` on. Throws `input` if the source ends before.
  virtual void read_at(std::int64_t offset, std::span<std::byte> out) const = 0;

 protected:
  ByteSource(std::string name, std::int64_t size) : name_(std::move(name)), size_(size) {}

 private:
  std::string name_;
  std::int64_t size_;
};

/// Throws `input` unless `path` is a readable regular file. The size is taken when it is opened.
TAMIS_INSIDE std::unique_ptr<ByteSource> open_file(const std::string& path);

/// Reads from `bytes`, which the caller owns and must keep.
TAMIS_INSIDE std::unique_ptr<ByteSource> memory_source(std::string name,
                                                       std::span<const std::byte> bytes);

/// All bytes, in one allocation of the source's size.
TAMIS_INSIDE std::string read_all(const ByteSource& source);

}  // namespace tamis::core
