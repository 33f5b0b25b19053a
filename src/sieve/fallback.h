// Where the sieve does not pay: dense attention, bit for bit, with the certificate of its rounding.
#pragma once

#include <tamis/sieve.h>

#include "attention/dense.h"
#include "sieve/index.h"

namespace tamis {

/// What was read in vain.
struct Scanned {
  std::int64_t blocks = 0;
  bool both = false;  ///< meshes
};

/// All rows of KV heads first_head … first_head + scanned.size() − 1, of which so much was scanned in vain.
/// Reads K and V once; norms come from the index, and from the keys and values themselves where they are
/// not indexed.
void attend_densely(const DenseCall& call, std::int64_t first_head, const Index::Impl& index,
                    std::span<const Scanned> scanned, const SieveOptions& options, Workspace& workspace,
                    View<float> out, std::span<float> lse, std::span<Certificate> certificates);

/// Throws `usage` unless `weights` has room for every row and the most keys that a row sees.
void check_weights(const Shape& shape, std::span<const KvPages> kv, std::span<const std::int64_t> seen,
                   View<float> weights);

}  // namespace tamis
