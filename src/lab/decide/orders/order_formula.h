// The clauses that orientations of elements obey if the elements are vectors of some rank and every
// cut is the sign of a linear functional (docs/order-proofs.md). Written apart from the checker of
// order proofs, which makes the same clauses in its own way.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "lab/decide/orders/clause_proof.h"

namespace tamis::lab::decision {

/// Sets of elements are bits by place, at most so many.
constexpr std::int64_t most_elements = 62;

struct OrderFormula {
  Formula formula;
  std::vector<std::uint64_t>
      tuples;  ///< by variable, from 0: the elements that it orients, ascending
  std::vector<std::int32_t> cut_of;  ///< by clause: the cut that it comes from, or −1

  /// The elements and the cuts that some clauses of the formula speak of.
  struct Core {
    std::uint64_t elements = 0;
    std::vector<std::int32_t> cuts;  ///< ascending
  };
  [[nodiscard]] Core core(std::span<const std::int64_t> clauses) const;
};

/// Whether the checker of order proofs takes a proof of so many elements and cuts.
bool checkable(std::int64_t elements, std::int64_t cuts, std::int64_t rank);

/// An upper bound of the clauses (ii) for so many elements and cuts.
double circuit_clauses(std::int64_t elements, std::int64_t cuts, std::int64_t rank);

/// That the first variable is +, and the clauses (ii). `cuts` holds the elements where each cut is
/// +. Memory linear in the literals; time, in the cuts for each set of rank + 1 elements.
OrderFormula order_formula(std::int64_t elements, std::int64_t rank,
                           std::span<const std::uint64_t> cuts);

/// Adds the clauses (i) of every relation that the values do not keep, and counts these relations.
/// There are many more relations than contradictions need. Time linear in all of them.
std::int64_t add_broken_relations(OrderFormula& formula, std::int64_t elements, std::int64_t rank,
                                  const std::vector<bool>& values);

}  // namespace tamis::lab::decision
