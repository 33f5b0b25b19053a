// Queries and keys with logits q·kᵀ, not yet verified: the result of every construction in
// src/lab/realise.
#pragma once

#include <cstdint>
#include <vector>

namespace tamis::lab::realisation {

struct Candidate {
  std::int64_t rows = 0;  ///< rows of the pattern; q is rows × dim
  std::int64_t cols = 0;  ///< columns of the pattern; k is cols × dim
  std::int64_t dim = 0;
  std::vector<double> q, k;
};

}  // namespace tamis::lab::realisation
