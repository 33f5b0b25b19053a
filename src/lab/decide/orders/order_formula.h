// The clauses that the orientations of elements obey if the elements are vectors of some rank and
// every cut is the sign of a linear functional (docs/order-proofs.md). The checker of order proofs
// makes the same clauses in its own way, and this code is written independently of it.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "lab/decide/orders/clause_proof.h"

namespace tamis::lab::decision {

/// The most elements: a set of elements is a word with a bit for each.
constexpr std::int64_t most_elements = 62;

struct OrderFormula {
  Formula formula;
  /// For each variable, from 0, the elements that it orients; ascending.
  std::vector<std::uint64_t> tuples;
  std::vector<std::int32_t> cut_of;  ///< for each clause, the cut that it comes from, or −1

  /// The elements and the cuts that occur in some clauses of the formula.
  struct Core {
    std::uint64_t elements = 0;
    std::vector<std::int32_t> cuts;  ///< ascending
  };
  [[nodiscard]] Core core(std::span<const std::int64_t> clauses) const;
};

/// Whether the checker of order proofs accepts a proof of this size.
bool checkable(std::int64_t elements, std::int64_t cuts, std::int64_t rank);

/// An upper bound on the number of clauses (ii) of docs/order-proofs.md.
double circuit_clauses(std::int64_t elements, std::int64_t cuts, std::int64_t rank);

/// The formula that the first variable is +, with the clauses (ii). `cuts` holds for each cut the
/// elements where it is +. Memory is linear in the literals; the time is linear in the cuts for
/// each set of rank + 1 elements.
OrderFormula order_formula(std::int64_t elements, std::int64_t rank,
                           std::span<const std::uint64_t> cuts);

/// Adds the clauses (i) of every relation that the values violate, and returns the number of these
/// relations. Relations are added only when violated because there are many more of them than a
/// contradiction needs. Time linear in all relations.
std::int64_t add_broken_relations(OrderFormula& formula, std::int64_t elements, std::int64_t rank,
                                  const std::vector<bool>& values);

}  // namespace tamis::lab::decision
