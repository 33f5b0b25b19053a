// What every construction of src/realise hands over: queries and keys whose logits are q·kᵀ, not
// yet verified.
#pragma once

#include <cstdint>
#include <vector>

namespace tamis::lab::realisation {

struct Candidate {
  std::int64_t rows = 0;  ///< of the pattern; q is rows × dim
  std::int64_t cols = 0;  ///< k is cols × dim
  std::int64_t dim = 0;
  std::vector<double> q, k;
};

}  // namespace tamis::lab::realisation
