// Proves "no" for any dimension: looks for an order proof by asking cadical for orientations of
// elements that leave every cut possible. This includes the full sets. Dimension 1 is decided
// completely, and dimension 2 for up to 8 elements; beyond that, orientations may exist where
// vectors do not.
#pragma once

#include <cstdint>
#include <string>
#include <variant>

#include <tamis/lab/refutation.h>
#include "lab/decide/clock.h"
#include "lab/decide/sign_matrix.h"

namespace tamis::lab::decision {

/// All elements of a side can be oriented: that side has no order proof, and nothing else is
/// proved.
struct OrdersExist {};
/// Neither a proof nor orientations of all elements were found.
struct OrdersUnknown {
  std::string why;
};
using OrdersAnswer = std::variant<OrderProof, OrdersExist, OrdersUnknown>;

/// Asks about sets of elements that the seed chooses, few and small ones first, with an effort that
/// doubles. It ends when one set is refuted, when all elements together have orientations, or when
/// the effort has passed minutes. It then drops elements that the proof does not need. `dim` ≥ 1 is
/// the number of columns of queries and keys.
///
/// Time: a second for random signs and dim ≤ 3, a minute or more for dim 4 where neither answer is
/// near; exponential at worst, up to the time of the part. Memory: up to a gigabyte, cadical's
/// included. The answer is the same every time, unless the part ends before. The proof has been
/// replayed, but not by `check_order_proof`. Throws `io` if temporary files cannot be written.
OrdersAnswer find_order_proof(const SignMatrix& signs, const Side& side, std::int64_t dim,
                              std::uint64_t seed, Clock::Part& part);

/// The same for the side with fewer elements.
OrdersAnswer find_order_proof(const SignMatrix& signs, std::int64_t dim, std::uint64_t seed,
                              Clock::Part& part);

}  // namespace tamis::lab::decision
