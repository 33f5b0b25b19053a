// Synthetic heads that satisfy the assumptions of the n^C-sparsity theory, which can be relaxed
// one by one.
//
// Inputs x have d entries, independent and uniform in [−1, 1] (B = 1). W = W_Q·W_Kᵀ is Gaussian and
// scaled so that R = B²‖W‖_F. Logits are x_iᵀ·W·x_j, with standard deviation R/3 over queries and
// keys. Values are independent of the keys and uniform in [−1, 1]. Each dial goes from 0, where its
// assumption holds, to 1:
//   copies   The probability that a token repeats the one before it. Marginal distributions stay
//            the same; tokens are no longer independent.
//   common   The probability that an entry equals the first entry of its token. Marginal
//            distributions stay the same; the entries of a token are no longer independent.
//   tails    The weight, in a mixture of quantiles scaled to the uniform distribution's standard
//            deviation, of a distribution with Pareto tails of index 3; the rest is the uniform
//            distribution. Entries are no longer bounded.
//   sinks    The first token has value 0, and its logit is raised by this share of 2·log n. At 1/2
//            it weighs as much as n tokens of its kind would, at 1 as much as n².
#pragma once

#include <cstdint>
#include <vector>

#include <tamis/attention.h>

namespace tamis::lab::experiments {

struct Synthetic {
  std::int64_t n = 0;        ///< tokens
  std::int64_t queries = 1;  ///< queries, independent of the tokens; each sees all tokens
  std::int64_t d = 64;       ///< number of entries of an input, at most 1023
  std::int64_t value_dim = 16;
  double R = 6;
  double copies = 0;
  double common = 0;
  double tails = 0;
  double sinks = 0;
  std::uint64_t seed = 0;
};

/// One head. Queries are Wᵀ·x and keys are x, each with one additional entry for the sink, so that
/// the logits are q·k with scale 1.
struct SyntheticHead {
  Shape shape;
  std::vector<float> q;  ///< queries × (d + 1)
  std::vector<float> k;  ///< n × (d + 1)
  std::vector<float> v;  ///< n × value_dim
};

/// Makes a head in n·d + queries·d² operations on the calling thread. For the same seed, the
/// tokens of a smaller n are the first tokens of a larger one and the queries are equal, except
/// for the sink's logit. Throws `usage` for numbers out of range.
SyntheticHead synthetic_head(const Synthetic& synthetic);

}  // namespace tamis::lab::experiments
