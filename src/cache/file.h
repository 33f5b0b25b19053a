// Saves a sequence to a file and loads it. The file has a head, a list of the blocks, each block,
// then the raw tokens; every part is followed by a checksum. All numbers are little endian. Pages
// are written as they lie in memory; of raw pages only the rows in use are written.
#pragma once

#include <memory>
#include <string>

#include "cache/inside.h"
#include "core/file.h"

namespace tamis::cache {

/// Whether a reader compares checksums. `ignored` is for tests of the other checks.
enum class Checksums { compared, ignored };

class ContentsFile {
 public:
  static void write(const std::string& path, const Cache::Impl& cache, const Contents& contents);
  /// Throws `input`, naming the file, if the cache could not have written it. Memory is allocated
  /// only after the file is known to be as long as its head and list of blocks require.
  static std::unique_ptr<Contents> read(const core::ByteSource& source, Cache::Impl& cache,
                                        Checksums checksums = Checksums::compared);
};

}  // namespace tamis::cache
