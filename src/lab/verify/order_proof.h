// Checks order proofs. Vectors in general position orient their tuples, and the orientations obey
// certain clauses; an order proof shows that these clauses contradict each other.
// docs/order-proofs.md lists the clauses, proves that they hold, and numbers the variables.
#pragma once

#include <cstdint>

#include <tamis/lab/pattern.h>
#include <tamis/lab/refutation.h>

namespace tamis::lab::verification {

/// Limits on what is checked. A larger claim does not hold, and `why` says so. The limits bound
/// memory beyond that of the proof to about three gigabytes, whatever the proof claims.
inline constexpr std::int64_t order_proof_dims = 29;
inline constexpr std::int64_t order_proof_variables = std::int64_t{1} << 20;
inline constexpr std::int64_t order_proof_clauses = std::int64_t{1} << 22;
/// The limit on the number of (dim + 2)-sets times the number of cuts.
inline constexpr std::int64_t order_proof_splits = std::int64_t{1} << 26;

/// Checks whether the proof refutes every witness of `dim` columns. Makes the initial clauses from
/// the pattern itself, then checks those of the proof in turn by unit propagation, which takes
/// about as long as finding them did. Requires a pattern that passed `check_pattern`. Concurrent
/// calls are safe.
RefutationCheck check_order_proof(const Pattern& pattern, std::int64_t dim,
                                  const OrderProof& proof);

}  // namespace tamis::lab::verification
