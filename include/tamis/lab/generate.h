// Generators of patterns for experiments: the random ones of the paper (Likhosherstov, Choromanski
// and Weller), regular ones, and those of a model's attention.
#pragma once

#include <cstdint>

#include <tamis/export.h>
#include <tamis/lab/pattern.h>
#include <tamis/lab/trace.h>

namespace tamis::lab {

// Every function here throws `usage` for arguments that define no pattern, such as k > n, γ < 1 or
// a layer that the trace does not have. All but `top_keys_pattern` also throw it for a pattern that
// would not fit the memory of the machine, at 16 bytes for every nonzero and 8 for every row. Where
// nothing else is said, a function takes about these bytes, and time in proportion to them. The
// same arguments always give the same pattern. The functions are safe to call concurrently.

/// The union of k random n × n permutation matrices. Each nonzero is 1 or γ by a fair coin, as in
/// the paper's experiments. The permutations take 8 bytes more for each of the n·k places.
TAMIS_API Pattern permutations_pattern(std::int64_t n, std::int64_t k, double gamma,
                                       std::uint64_t seed);
/// An n × n pattern with min(k, i + 1) distinct random columns j ≤ i in row i. Each nonzero is 1 or
/// γ by a fair coin. The number of nonzeros in a column is not bounded.
TAMIS_API Pattern causal_pattern(std::int64_t n, std::int64_t k, double gamma, std::uint64_t seed);
/// An n × n pattern with ones where |i − j| ≤ reach, or 0 ≤ i − j ≤ reach if causal.
TAMIS_API Pattern banded_pattern(std::int64_t n, std::int64_t reach, bool causal);
/// An n × n pattern with ones where i and j lie in the same block of `size` indices, and where also
/// j ≤ i if causal.
TAMIS_API Pattern block_pattern(std::int64_t n, std::int64_t size, bool causal);
/// One row with two ones for each of the n(n − 1)/2 pairs of n columns, in lexicographic order, as
/// in the LIMIT dataset (Weller et al., arXiv 2508.21038). Takes 20·n² bytes.
TAMIS_API Pattern pairs_pattern(std::int64_t n);
/// For each query of one head of a trace, the k keys of largest attention weight that it sees, with
/// these weights (f64). Row r is query r of the trace, and the columns are all keys of the head.
/// Ties go to the earlier key. A row has fewer than k nonzeros if its query sees fewer keys or if
/// weights underflow. Reads the layer, then takes tokens·d multiply-adds in f64 and a partial sort
/// of the tokens for each query, on the calling thread. Needs memory for the layer, and 8·d + 16
/// bytes for every token.
TAMIS_API Pattern top_keys_pattern(const Trace& trace, std::int64_t layer, std::int64_t head,
                                   std::int64_t k);

}  // namespace tamis::lab
