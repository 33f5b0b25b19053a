// A set is a word of bits, so that all sets of one size in ascending order have the same numbers as
// in the proof.
#include "lab/decide/orders/order_formula.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <utility>

#include "lab/verify/order_proof.h"

namespace tamis::lab::decision {
namespace {

double choose(std::int64_t n, std::int64_t k) {
  if (k < 0 || k > n) return 0;
  double result = 1;
  for (std::int64_t i = 1; i <= k; ++i)
    result = result * static_cast<double>(n - k + i) / static_cast<double>(i);
  return result;
}

/// All sets of k out of n elements, in ascending order of their bits (colexicographic order).
std::vector<std::uint64_t> sets_of(std::int64_t n, std::int64_t k) {
  std::vector<std::uint64_t> sets;
  if (k > n) return sets;
  for (std::uint64_t set = (std::uint64_t{1} << k) - 1; set < std::uint64_t{1} << n;) {
    sets.push_back(set);
    if (set == 0) break;
    const std::uint64_t carried = set + (set & -set);
    set = carried | ((set ^ carried) >> (std::countr_zero(set) + 2));
  }
  return sets;
}

std::vector<std::uint64_t> members(std::uint64_t set) {
  std::vector<std::uint64_t> bits;
  for (; set != 0; set &= set - 1) bits.push_back(set & -set);
  return bits;
}

struct Writer {
  OrderFormula& to;

  [[nodiscard]] std::int32_t variable(std::uint64_t tuple) const {
    return 1 + static_cast<std::int32_t>(
                   std::lower_bound(to.tuples.begin(), to.tuples.end(), tuple) - to.tuples.begin());
  }
  void close(std::int32_t cut) {
    to.formula.literals.push_back(0);
    to.cut_of.push_back(cut);
    ++to.formula.clauses;
  }
  /// Adds the literal to a clause that forbids a combination of values: that `variable` has this
  /// value.
  void forbid(std::int32_t variable, bool value) {
    to.formula.literals.push_back(value ? -variable : variable);
  }

  /// Adds the clauses that say: of the products of the three pairs of variables, with the middle
  /// one negated, two differ.
  void differ(const std::int32_t (&pairs)[3][2]) {
    for (unsigned values = 0; values < 16; ++values) {
      const bool all = (values & 8U) != 0;
      for (unsigned i = 0; i < 3; ++i) {
        const bool first = (values >> i & 1U) != 0;
        const bool equal = i == 1 ? !all : all;  // whether the product is +
        forbid(pairs[i][0], first);
        forbid(pairs[i][1], first == equal);
      }
      close(-1);
    }
  }
};

/// Whether the values satisfy the clauses that `Writer::differ` adds.
bool differ(const std::int32_t (&pairs)[3][2], const std::vector<bool>& values) {
  const auto value = [&](std::int32_t variable) {
    return values[static_cast<std::size_t>(variable) - 1];
  };
  const auto product = [&](std::size_t i) { return value(pairs[i][0]) == value(pairs[i][1]); };
  return product(0) == product(1) || product(0) != product(2);
}

/// Adds the clauses (ii) of docs/order-proofs.md.
void add_circuits(std::int64_t elements, std::int64_t rank, std::span<const std::uint64_t> cuts,
                  Writer& writer) {
  // The part of the set with the lowest element, and a cut that splits the set so.
  std::vector<std::pair<std::uint64_t, std::int32_t>> splits;
  for (const std::uint64_t set : sets_of(elements, rank + 1)) {
    const auto bit = members(set);
    std::vector<std::int32_t> left_out;
    left_out.reserve(bit.size());
    for (const std::uint64_t b : bit) left_out.push_back(writer.variable(set ^ b));
    splits.clear();
    for (std::size_t c = 0; c < cuts.size(); ++c) {
      const std::uint64_t part = cuts[c] & set;
      splits.emplace_back((part & bit[0]) != 0 ? part : set ^ part, static_cast<std::int32_t>(c));
    }
    std::sort(splits.begin(), splits.end());
    const auto same = [](const auto& a, const auto& b) { return a.first == b.first; };
    splits.erase(std::unique(splits.begin(), splits.end(), same), splits.end());
    for (const auto& [part, cut] : splits) {
      for (const bool turned : {false, true}) {
        for (std::size_t i = 0; i < bit.size(); ++i)
          writer.forbid(left_out[i], (((part & bit[i]) != 0) != turned) == (i % 2 == 0));
        writer.close(cut);
      }
    }
  }
}

}  // namespace

double circuit_clauses(std::int64_t elements, std::int64_t cuts, std::int64_t rank) {
  const double splits =
      std::min(static_cast<double>(cuts), std::ldexp(1.0, static_cast<int>(rank)));
  return 2 * choose(elements, rank + 1) * splits;
}

bool checkable(std::int64_t elements, std::int64_t cuts, std::int64_t rank) {
  if (rank > verification::order_proof_dims + 1 || elements > most_elements) return false;
  const double relations = 16 * choose(elements, rank + 2) * choose(rank + 2, 4);
  return choose(elements, rank) <= static_cast<double>(verification::order_proof_variables) &&
         1 + relations + circuit_clauses(elements, cuts, rank) <=
             static_cast<double>(verification::order_proof_clauses) &&
         choose(elements, rank + 1) * static_cast<double>(cuts) <=
             static_cast<double>(verification::order_proof_splits);
}

OrderFormula order_formula(std::int64_t elements, std::int64_t rank,
                           std::span<const std::uint64_t> cuts) {
  OrderFormula result;
  result.tuples = sets_of(elements, rank);
  result.formula.variables = static_cast<std::int32_t>(result.tuples.size());
  Writer writer{result};
  if (!result.tuples.empty()) {
    writer.forbid(1, false);
    writer.close(-1);
  }
  add_circuits(elements, rank, cuts, writer);
  return result;
}

std::int64_t add_broken_relations(OrderFormula& formula, std::int64_t elements, std::int64_t rank,
                                  const std::vector<bool>& values) {
  Writer writer{formula};
  std::int64_t broken = 0;
  // Four of rank + 2 elements are exchanged, and the others stay.
  const std::vector<std::uint64_t> fours = sets_of(rank + 2, 4);
  for (const std::uint64_t set : sets_of(elements, rank + 2)) {
    const auto bit = members(set);
    for (const std::uint64_t four : fours) {
      std::array<std::uint64_t, 4> moved{};
      std::uint64_t stay = set;
      std::size_t place = 0;
      for (std::uint64_t rest = four; rest != 0; rest &= rest - 1) {
        moved[place] = bit[static_cast<std::size_t>(std::countr_zero(rest))];
        stay ^= moved[place++];
      }
      const auto with = [&](std::size_t i, std::size_t j) {
        return writer.variable(stay | moved[i] | moved[j]);
      };
      const std::int32_t pairs[3][2] = {
          {with(0, 1), with(2, 3)}, {with(0, 2), with(1, 3)}, {with(0, 3), with(1, 2)}};
      if (differ(pairs, values)) continue;
      writer.differ(pairs);
      ++broken;
    }
  }
  return broken;
}

OrderFormula::Core OrderFormula::core(std::span<const std::int64_t> clauses) const {
  Core result;
  std::vector<std::size_t> start{0};
  for (std::size_t i = 0; i < formula.literals.size(); ++i)
    if (formula.literals[i] == 0) start.push_back(i + 1);
  for (const std::int64_t clause : clauses) {
    const auto c = static_cast<std::size_t>(clause);
    if (c == 0) continue;  // it only fixes the sign of the first variable and needs no element
    for (std::size_t i = start[c]; formula.literals[i] != 0; ++i)
      result.elements |= tuples[static_cast<std::size_t>(std::abs(formula.literals[i])) - 1];
    if (cut_of[c] >= 0) result.cuts.push_back(cut_of[c]);
  }
  std::sort(result.cuts.begin(), result.cuts.end());
  result.cuts.erase(std::unique(result.cuts.begin(), result.cuts.end()), result.cuts.end());
  return result;
}

}  // namespace tamis::lab::decision
