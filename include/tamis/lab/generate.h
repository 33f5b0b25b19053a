// Patterns to try things on: the paper's random ones, regular ones, and those of real attention.
#pragma once

#include <cstdint>

#include <tamis/export.h>
#include <tamis/lab/pattern.h>
#include <tamis/lab/trace.h>

namespace tamis::lab {

// All throw `usage` for arguments that define no pattern, such as k > n, γ < 1 or a layer that the
// trace does not have, and for one larger than the memory of the machine: 16 bytes for every
// nonzero and 8 for every row. Same arguments, same pattern. Safe to call concurrently.

/// The union of k random permutation matrices, each nonzero 1 or γ by a fair coin (the paper's
/// experiments).
TAMIS_API Pattern permutations_pattern(std::int64_t n, std::int64_t k, double gamma,
                                       std::uint64_t seed);
/// min(k, i + 1) distinct random columns j ≤ i in row i, values 1 or γ by a fair coin. Columns are
/// not bounded.
TAMIS_API Pattern causal_pattern(std::int64_t n, std::int64_t k, double gamma, std::uint64_t seed);
/// Ones where |i − j| ≤ reach, or 0 ≤ i − j ≤ reach if causal.
TAMIS_API Pattern banded_pattern(std::int64_t n, std::int64_t reach, bool causal);
/// Ones where i and j lie in the same block of `size` indices (and j ≤ i if causal).
TAMIS_API Pattern block_pattern(std::int64_t n, std::int64_t size, bool causal);
/// One row for each of the n(n − 1)/2 pairs of n columns, in lexicographic order (LIMIT):
/// 20·n² bytes.
TAMIS_API Pattern pairs_pattern(std::int64_t n);
/// For each query of one head of a trace, the k heaviest keys it sees with their attention weights
/// (f64). Columns are all keys of the head; ties go to the earlier key. Row r is the trace's query
/// r. A query that sees fewer keys has fewer nonzeros, and so has one whose weights underflow.
TAMIS_API Pattern top_keys_pattern(const Trace& trace, std::int64_t layer, std::int64_t head,
                                   std::int64_t k);

}  // namespace tamis::lab
