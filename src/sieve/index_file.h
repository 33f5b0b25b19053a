// The index in a file, on bytes rather than on a path: what Index::load calls after opening the file, and
// the fuzz target on memory.
#pragma once

#include <span>

#include <tamis/index.h>
#include "io/file.h"

namespace tamis {

/// As Index::load.
Index read_index(const ByteSource& source, DType dtype, std::span<const KvPages> kv);
/// The same without comparing hashes, which no fuzzer could guess.
Index read_index_unhashed(const ByteSource& source, DType dtype, std::span<const KvPages> kv);

/// Throws `input`, naming the file, unless every number in the records of a block is one that
/// encode_block may write: after this, whatever the file held, attention reads no memory it should not
/// and no NaN.
void check_records(const std::string& file, const Index::Impl& index, std::int64_t head,
                   std::int64_t block);

}  // namespace tamis
