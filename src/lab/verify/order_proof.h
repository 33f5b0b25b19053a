// Order proofs: vectors in general position orient their tuples, orientations obey clauses, and the
// clauses contradict each other. docs/order-proofs.md says which clauses, why they hold, and
// numbers the variables.
#pragma once

#include <cstdint>

#include <tamis/lab/pattern.h>
#include <tamis/lab/refutation.h>

namespace tamis::lab::verification {

/// What is checked at most; a larger claim does not hold, and `why` says so. Bounds the memory
/// beyond that of the proof to some three gigabytes, whatever the proof says of itself.
inline constexpr std::int64_t order_proof_dims = 29;
inline constexpr std::int64_t order_proof_variables = std::int64_t{1} << 20;
inline constexpr std::int64_t order_proof_clauses = std::int64_t{1} << 22;
inline constexpr std::int64_t order_proof_splits = std::int64_t{1}
                                                   << 26;  ///< (dim + 2)-sets · cuts

/// Whether the proof refutes every witness of `dim` columns. Makes the clauses from the pattern
/// itself, then checks the learnt ones in turn by unit propagation: about the time it took to find
/// them. The pattern has passed `check_pattern`. Concurrent calls are safe.
RefutationCheck check_order_proof(const Pattern& pattern, std::int64_t dim,
                                  const OrderProof& proof);

}  // namespace tamis::lab::verification
