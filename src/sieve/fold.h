// A block's steps folded into the queries: what turns codes into logits.
#pragma once

#include <array>

#include "sieve/step.h"

namespace tamis {

struct FoldedBlock {
  std::array<Folded, sieve_rows> row;
};
/// Leaves the integers in step.integers(block). Uses the first fold_scratch·d32 floats of the scratch.
FoldedBlock fold_block(const Step& step, std::int64_t block, float* scratch);

/// Additions in a row in a sum over d32 channels on this target, and a few roundings more.
inline double sum_chain(const DenseCall& call, std::int64_t d32) {
  const std::int64_t additions = 2 * d32 / call.kernels.pad;
  return static_cast<double>(additions) + 8;
}

}  // namespace tamis
