// Checks whether a clause follows from other clauses by unit propagation, as refutations of
// propositional formulas are checked: assume that the clause is false and set what is forced, until
// some clause has no literal left.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace tamis::lab::verification {

/// A set of clauses over variables 1 … n. A literal is v or −v, for a variable v. Clauses are
/// numbered 0, 1, 2, … as they are added, and are never removed. Memory: 4 bytes per literal, about
/// 40 per clause and 70 per variable. Not thread-safe.
class UnitPropagation {
 public:
  explicit UnitPropagation(std::int32_t variables);

  /// Adds a clause and propagates what it forces. Literals may repeat. A clause with v and −v is
  /// always true, so it gets a number and is ignored. Cost: the length of the clause, and the
  /// watches of the literals that it forces.
  void add(std::span<const std::int32_t> clause);

  /// Whether propagation alone shows a contradiction, from which every clause follows.
  [[nodiscard]] bool contradiction() const { return conflict_ >= 0; }

  /// Whether the negation of `clause` leads propagation to a contradiction, so that the clause
  /// follows. `used`, if given, receives the numbers of the clauses that were needed, each once,
  /// and is empty if the answer is no. The assumptions are undone afterwards.
  [[nodiscard]] bool implies(std::span<const std::int32_t> clause,
                             std::vector<std::int64_t>* used = nullptr);

 private:
  using Literal = std::uint32_t;  // 2v for v, 2v + 1 for −v
  static constexpr std::int64_t assumed = -1;
  struct Watch {
    std::int64_t clause;
    Literal other;  // another literal of the clause; if it is true, so is the clause
  };

  static Literal coded(std::int32_t literal) {
    return literal > 0 ? 2U * static_cast<Literal>(literal)
                       : 2U * static_cast<Literal>(-literal) + 1U;
  }
  [[nodiscard]] bool is_true(Literal l) const { return value_[l] > 0; }
  [[nodiscard]] bool is_false(Literal l) const { return value_[l] < 0; }
  [[nodiscard]] std::span<Literal> literals(std::int64_t clause) {
    const auto c = static_cast<std::size_t>(clause);
    return {literals_.data() + start_[c], start_[c + 1] - start_[c]};
  }
  void set(Literal l, std::int64_t reason);
  std::int64_t propagate();  // returns a clause without a literal left, or −1
  bool visit(std::int64_t clause, Literal gone, std::size_t& kept, std::vector<Watch>& watches);
  void collect(std::int64_t conflict, std::vector<std::int64_t>& used);
  void undo(std::size_t length);

  std::vector<Literal> literals_;
  std::vector<std::size_t> start_{0};
  std::vector<std::vector<Watch>> watches_;  // by literal: clauses to look at when it becomes false
  std::vector<std::int8_t> value_;           // by literal
  std::vector<std::int64_t> reason_;         // by variable: the clause that forced it, or `assumed`
  std::vector<bool> needed_;                 // by variable, all false between calls
  std::vector<Literal> trail_;               // true literals, in the order in which they were set
  std::size_t seen_ = 0;                     // how many literals of the trail were propagated
  std::int64_t conflict_ = -1;
};

}  // namespace tamis::lab::verification
