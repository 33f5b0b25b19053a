// Queries and keys with logits q·kᵀ, not yet verified: the result of every construction in
// src/lab/realise.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include <tamis/lab/tensor.h>

namespace tamis::lab::realisation {

/// The paper's form of the same queries and keys (15)–(17): q = x·w_q and k = x·w_k.
struct Inputs {
  std::int64_t hidden = 0;   ///< columns of x, the paper's d_hid
  std::int64_t columns = 0;  ///< columns of w_q and w_k
  std::vector<double> x{};   ///< rows × hidden
  std::vector<double> w_q{}, w_k{};
};

struct Candidate {
  std::int64_t rows = 0;  ///< rows of the pattern; q is rows × dim
  std::int64_t cols = 0;  ///< columns of the pattern; k is cols × dim
  std::int64_t dim = 0;
  std::vector<double> q{}, k{};
  std::optional<Inputs> inputs{};
  Metadata made_by{};  ///< what the witness will say of its origin: method, seed
};

}  // namespace tamis::lab::realisation
