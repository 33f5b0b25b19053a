// The checker makes the initial clauses on its own, so that no mistake of the search can pass.
#include "lab/verify/order_proof.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include "lab/verify/unit_propagation.h"

namespace tamis::lab::verification {
namespace {

using Positions = std::vector<std::int64_t>;  // ascending

/// n choose k, or `limit` + 1 if it is more than `limit`, which must be below 2^27.
std::int64_t choose(std::int64_t n, std::int64_t k, std::int64_t limit) {
  if (k < 0 || k > n) return 0;
  const std::int64_t steps = std::min(k, n - k);
  std::int64_t result = 1;
  for (std::int64_t i = 1; i <= steps && result <= limit; ++i)
    result = result * (n - steps + i) / i;
  return std::min(result, limit + 1);
}

/// Calls body(subset) for each set of k out of n positions.
template <class Body>
void for_each_subset(std::int64_t n, std::int64_t k, const Body& body) {
  if (k > n) return;
  Positions subset(static_cast<std::size_t>(k));
  for (std::int64_t i = 0; i < k; ++i) subset[static_cast<std::size_t>(i)] = i;
  while (true) {
    body(subset);
    std::int64_t i = k - 1;
    while (i >= 0 && subset[static_cast<std::size_t>(i)] == n - k + i) --i;
    if (i < 0) return;
    ++subset[static_cast<std::size_t>(i)];
    for (; i + 1 < k; ++i)
      subset[static_cast<std::size_t>(i + 1)] = subset[static_cast<std::size_t>(i)] + 1;
  }
}

/// The initial clauses of some elements and cuts (docs/order-proofs.md). D is the rank, dim + 1.
class Axioms {
 public:
  Axioms(const Pattern& pattern, std::int64_t rank, const OrderProof& proof)
      : rank_(rank), elements_(static_cast<std::int64_t>(proof.elements.size())) {
    for (std::int64_t cut : proof.cuts) {
      std::vector<bool>& signs = signs_.emplace_back();
      for (std::int64_t element : proof.elements)
        signs.push_back(proof.of_columns ? positive(pattern, cut, element)
                                         : positive(pattern, element, cut));
    }
  }

  /// Adds the clauses to `to`. All orientations can be reversed together, so the first may be +.
  void add_to(UnitPropagation& to) const {
    if (elements_ >= rank_) to.add(std::vector<std::int32_t>{1});
    for_each_subset(elements_, rank_ - 2,
                    [&](const Positions& sigma) { add_relations(sigma, to); });
    for_each_subset(elements_, rank_ + 1, [&](const Positions& set) { add_splits(set, to); });
  }

 private:
  static bool positive(const Pattern& pattern, std::int64_t row, std::int64_t column) {
    if (row == ones_row) return true;
    const auto columns = pattern.columns_of(row);
    return std::binary_search(columns.begin(), columns.end(), column);
  }

  /// The variable of a tuple of D positions.
  [[nodiscard]] std::int32_t variable(const Positions& tuple) const {
    std::int64_t rank = 1;
    for (std::size_t i = 0; i < tuple.size(); ++i)
      rank += choose(tuple[i], static_cast<std::int64_t>(i) + 1, order_proof_variables);
    return static_cast<std::int32_t>(rank);
  }

  /// Adds clauses which say that χ(σab)χ(σce), −χ(σac)χ(σbe) and χ(σae)χ(σbc) are not all of one
  /// sign, for all a < b < c < e outside σ.
  void add_relations(const Positions& sigma, UnitPropagation& to) const {
    Positions outside;
    for (std::int64_t i = 0; i < elements_; ++i)
      if (!std::binary_search(sigma.begin(), sigma.end(), i)) outside.push_back(i);
    for_each_subset(static_cast<std::int64_t>(outside.size()), 4, [&](const Positions& four) {
      const auto with = [&](std::size_t first, std::size_t second) {
        Positions tuple = sigma;
        for (std::size_t i : {first, second})
          tuple.push_back(outside[static_cast<std::size_t>(four[i])]);
        std::sort(tuple.begin(), tuple.end());
        return variable(tuple);
      };
      const std::int32_t pairs[3][2] = {
          {with(0, 1), with(2, 3)}, {with(0, 2), with(1, 3)}, {with(0, 3), with(1, 2)}};
      for (const int sign : {1, -1}) {
        for (unsigned choice = 0; choice < 8; ++choice) {
          std::vector<std::int32_t> clause;
          for (unsigned term = 0; term < 3; ++term) {
            const int product = term == 1 ? -sign : sign;
            const int first = (choice >> term & 1U) != 0 ? 1 : -1;
            clause.push_back(-first * pairs[term][0]);
            clause.push_back(-first * product * pairs[term][1]);
          }
          to.add(clause);
        }
      }
    });
  }

  /// Adds clauses which say that λ_i = (−1)^i χ(T without its i-th element) are neither the signs
  /// of a cut on T = `set` nor their opposites.
  void add_splits(const Positions& set, UnitPropagation& to) const {
    std::vector<std::uint32_t> splits;  // bit i: element i has the sign of element 0
    for (const std::vector<bool>& signs : signs_) {
      std::uint32_t split = 0;
      for (std::size_t i = 0; i < set.size(); ++i)
        if (signs[static_cast<std::size_t>(set[i])] == signs[static_cast<std::size_t>(set[0])])
          split |= 1U << i;
      splits.push_back(split);
    }
    std::sort(splits.begin(), splits.end());
    splits.erase(std::unique(splits.begin(), splits.end()), splits.end());
    std::vector<std::int32_t> without;
    for (std::size_t i = 0; i < set.size(); ++i) {
      Positions tuple = set;
      tuple.erase(tuple.begin() + static_cast<std::ptrdiff_t>(i));
      without.push_back(variable(tuple));
    }
    for (const std::uint32_t split : splits) {
      for (const int sign : {1, -1}) {
        std::vector<std::int32_t> clause;
        for (std::size_t i = 0; i < set.size(); ++i) {
          const int cut = (split >> i & 1U) != 0 ? sign : -sign;
          clause.push_back((i % 2 == 0 ? -cut : cut) * without[i]);
        }
        to.add(clause);
      }
    }
  }

  std::int64_t rank_;
  std::int64_t elements_;
  std::vector<std::vector<bool>> signs_;  // by cut, then by position
};

/// Says what is wrong with a list of rows (ones_row may be among them) or columns, if anything.
std::optional<std::string> fault_of(const std::vector<std::int64_t>& list, const char* name,
                                    bool of_rows, std::int64_t size) {
  for (std::size_t i = 0; i < list.size(); ++i) {
    if ((list[i] < 0 && !(of_rows && list[i] == ones_row)) || list[i] >= size)
      return fmt::format("{} {} is {}, not one of {} {}", name, i, list[i], size,
                         of_rows ? "rows" : "columns");
    if (i > 0 && list[i] <= list[i - 1])
      return fmt::format("{} {} is {}, after {}: they must ascend", name, i, list[i], list[i - 1]);
  }
  return std::nullopt;
}

/// Says which limit the proof exceeds, if any.
std::optional<std::string> excess_of(std::int64_t rank, const OrderProof& proof) {
  const auto elements = static_cast<std::int64_t>(proof.elements.size());
  const auto cuts = static_cast<std::int64_t>(proof.cuts.size());
  if (choose(elements, rank, order_proof_variables) > order_proof_variables)
    return fmt::format(
        "{} elements have more than {} sets of {}, which is the most that is checked", elements,
        order_proof_variables, rank);
  const std::int64_t sets = choose(elements, rank + 1, order_proof_splits);
  if (sets > 0 && cuts > order_proof_splits / sets)
    return fmt::format(
        "{} cuts of sets of {} out of {} elements are more than {}, which is the most that is "
        "checked",
        cuts, rank + 1, elements, order_proof_splits);
  const std::int64_t relations = choose(elements, rank - 2, order_proof_clauses);
  const std::int64_t fours = choose(elements - rank + 2, 4, order_proof_clauses);
  const std::int64_t splits = 2 * std::min(cuts, std::int64_t{1} << rank);
  // Each factor is below 2^31.
  if (16 * relations * fours > order_proof_clauses - splits * sets)
    return fmt::format(
        "{} elements and {} cuts have more than {} clauses, which is the most that is checked",
        elements, cuts, order_proof_clauses);
  return std::nullopt;
}

RefutationCheck wrong(std::string why) { return {.holds = false, .why = std::move(why)}; }

}  // namespace

RefutationCheck check_order_proof(const Pattern& pattern, std::int64_t dim,
                                  const OrderProof& proof) {
  const bool columns = proof.of_columns;
  if (dim < 1 || dim > order_proof_dims)
    return wrong(
        fmt::format("an order proof is for 1 to {} dimensions, not {}", order_proof_dims, dim));
  for (const auto& fault :
       {fault_of(proof.elements, "element", !columns, columns ? pattern.cols : pattern.rows),
        fault_of(proof.cuts, "cut", columns, columns ? pattern.rows : pattern.cols),
        excess_of(dim + 1, proof)})
    if (fault) return wrong(*fault);
  const auto variables = static_cast<std::int32_t>(
      choose(static_cast<std::int64_t>(proof.elements.size()), dim + 1, order_proof_variables));
  for (std::size_t i = 0; i < proof.clauses.size(); ++i)
    for (std::int32_t literal : proof.clauses[i])
      if (literal == 0 || literal > variables || literal < -variables)
        return wrong(fmt::format("clause {} holds {}, which is no literal of {} variables", i,
                                 literal, variables));

  UnitPropagation known(variables);
  Axioms(pattern, dim + 1, proof).add_to(known);
  for (std::size_t i = 0; i < proof.clauses.size() && !known.contradiction(); ++i) {
    if (!known.implies(proof.clauses[i]))
      return wrong(
          fmt::format("clause {} does not follow by unit propagation from those before it", i));
    known.add(proof.clauses[i]);
  }
  if (!known.contradiction()) return wrong("the clauses end without a contradiction");
  return {.holds = true, .why = {}};
}

}  // namespace tamis::lab::verification
