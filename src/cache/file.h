// A sequence in a file: a head, a list of its blocks, then each block, then raw tokens; each of
// these parts with a checksum. All numbers are little endian. Pages are written as they lie in
// memory; of raw pages only the rows that are there.
#pragma once

#include <memory>
#include <string>

#include "cache/inside.h"
#include "core/file.h"

namespace tamis::cache {

/// What a reader does with checksums: `ignored` is for tests of what else keeps a bad file out.
enum class Checksums { compared, ignored };

class ContentsFile {
 public:
  static void write(const std::string& path, const Cache::Impl& cache, const Contents& contents);
  /// Throws `input`, naming the file, for one that the cache could not have written. Memory is
  /// taken only for what the file really has.
  static std::unique_ptr<Contents> read(const core::ByteSource& source, Cache::Impl& cache,
                                        Checksums checksums = Checksums::compared);
};

}  // namespace tamis::cache
