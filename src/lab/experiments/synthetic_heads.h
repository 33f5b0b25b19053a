// Attention under the assumptions of the n^C-sparsity theory, and with these relaxed one by one.
//
// Inputs x of d entries, independent and uniform in [−1, 1] (B = 1); W = W_Q·W_Kᵀ Gaussian, scaled
// so that R = B²‖W‖_F; logits x_iᵀ·W·x_j, of standard deviation R/3 over queries and keys. Values
// are independent of the keys, uniform in [−1, 1]. Each dial goes from 0, the assumption holds, to
// 1:
//   copies   a token repeats the one before it with this probability: marginals stay, independence
//   goes common   an entry equals the first of its token with this probability: likewise, within a
//   token tails    quantiles are mixed, of the uniform law at 0 and of one with Pareto tails of
//   index 3 at 1, and
//            scaled to the uniform law's standard deviation: boundedness goes
//   sinks    the first token, its value now 0, has its logit raised by this share of 2·log n: at
//   1/2 it
//            weighs as much as n tokens of its kind would, at 1 as n² of them
#pragma once

#include <cstdint>
#include <vector>

#include <tamis/attention.h>

namespace tamis::lab::experiments {

struct Synthetic {
  std::int64_t n = 0;        ///< tokens
  std::int64_t queries = 1;  ///< independent of the tokens, each sees all of them
  std::int64_t d = 64;       ///< entries of an input, at most 1023
  std::int64_t value_dim = 16;
  double R = 6;
  double copies = 0;
  double common = 0;
  double tails = 0;
  double sinks = 0;
  std::uint64_t seed = 0;
};

/// One head. Queries are Wᵀ·x and keys are x, each with one entry more for the sink, so that logits
/// are q·k with scale 1.
struct SyntheticHead {
  Shape shape;
  std::vector<float> q;  ///< queries × (d + 1)
  std::vector<float> k;  ///< n × (d + 1)
  std::vector<float> v;  ///< n × value_dim
};

/// n·d + queries·d² operations on the calling thread. The tokens of a smaller n are the first of a
/// larger one's, and its queries the same, but for the sink's logit. Throws `usage` for numbers out
/// of range.
SyntheticHead synthetic_head(const Synthetic& synthetic);

}  // namespace tamis::lab::experiments
