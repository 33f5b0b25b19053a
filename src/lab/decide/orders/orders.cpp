// Asks about sets of elements, small ones first, until the clauses of one set contradict each
// other; then shrinks that set. A refutation of some elements refutes them all.
#include "lab/decide/orders/orders.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <map>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "lab/decide/orders/choose_elements.h"
#include "lab/decide/orders/order_formula.h"
#include "lab/numbers/random.h"

namespace tamis::lab::decision {
namespace {

/// Effort is counted in clauses. It doubles from a second to minutes.
constexpr double least_effort = 1 << 14;
constexpr double most_effort = 1 << 24;
constexpr double most_clauses = 1 << 22;
/// The cost of one run of cadical in clauses, however small the formula.
constexpr double run_clauses = 1 << 12;
constexpr double clauses_per_conflict = 16;
/// Most clauses of all formulas that are solved to drop elements: a few seconds.
constexpr double most_clauses_for_dropping = 1 << 22;

/// Streams of other searches have lower row numbers.
constexpr std::uint64_t first_stream = std::uint64_t{1} << 41;

using Elements = std::vector<std::int64_t>;  // numbers on the side, ascending

std::uint64_t low_bits(std::size_t n) { return (std::uint64_t{1} << n) - 1; }

class Search {
 public:
  Search(const SignMatrix& signs, const Side& side, std::int64_t rank, std::uint64_t seed,
         Clock::Part& part)
      : signs_(signs), side_(side), rank_(rank), seed_(seed), part_(part) {}

  OrdersAnswer run() {
    const std::int64_t least = std::min(rank_ + 2, side_.elements);
    double effort = least_effort;
    while (effort <= most_effort) {
      for (std::int64_t size = least; size <= std::min(side_.elements, most_elements);) {
        const double clauses = run_clauses + circuit_clauses(size, side_.cuts, rank_);
        if ((clauses > effort && size > least) || clauses > most_clauses) break;
        const bool all = size == side_.elements;
        const int attempts = all ? 1 : 2 * static_cast<int>(std::ceil(std::sqrt(effort / clauses)));
        for (int i = 0; i < attempts; ++i)
          if (auto answer = attempt(size, effort)) return std::move(*answer);
        size = all ? size + 1 : std::min(side_.elements, size + 1 + size / 8);
      }
      effort *= 2;
    }
    return OrdersUnknown{fmt::format("{}, and more are too many", oriented())};
  }

 private:
  /// The different cuts of some elements, as words of bits; opposite cuts count as equal.
  struct Cuts {
    std::vector<std::uint64_t> plus;
    std::vector<std::int64_t> which;  // the first cut of the side that gives each, ascending
  };
  [[nodiscard]] Cuts cuts_of(const Elements& elements) const {
    const std::uint64_t all = low_bits(elements.size());
    std::set<std::uint64_t> seen;
    Cuts cuts;
    for (std::int64_t c = 0; c < side_.cuts; ++c) {
      std::uint64_t plus = 0;
      for (std::size_t i = 0; i < elements.size(); ++i)
        plus |= std::uint64_t{side_.at(elements[i], c)} << i;
      if (!seen.insert((plus & 1U) != 0 ? plus : all ^ plus).second) continue;
      cuts.plus.push_back(plus);
      cuts.which.push_back(c);
    }
    return cuts;
  }

  /// A clause for messages: how many elements, at most, are known to have orientations.
  [[nodiscard]] std::string oriented() const {
    std::size_t most = 0;
    for (const Elements& elements : oriented_) most = std::max(most, elements.size());
    return fmt::format("{} of {} {} can be oriented", most, side_.elements,
                       side_.of_columns ? "columns" : "rows");
  }
  [[nodiscard]] OrdersUnknown time_over() const {
    return {oriented_.empty() ? "the time was over" : oriented() + ", and the time was over"};
  }

  /// Asks about `size` elements, unless the answer is known. Returns nothing if the search should
  /// go on.
  std::optional<OrdersAnswer> attempt(std::int64_t size, double effort) {
    const numbers::Stream stream(seed_, numbers::Purpose::order, first_stream + attempts_);
    const Tell tell = attempts_++ % 2 == 0 ? Tell::most : Tell::least;
    Elements elements = telling_elements(side_, size, tell, stream, part_);
    if (part_.over()) return time_over();
    std::sort(elements.begin(), elements.end());
    for (const Elements& more : oriented_)
      if (std::includes(more.begin(), more.end(), elements.begin(), elements.end()))
        return std::nullopt;
    double& spent = spent_[elements];
    if (spent >= effort) return std::nullopt;
    spent = effort;
    const ClauseAnswer answer =
        ask(elements, cuts_of(elements), static_cast<std::int64_t>(effort / clauses_per_conflict));
    if (std::holds_alternative<ClauseProof>(answer)) {
      drop();
      if (checkable(static_cast<std::int64_t>(proof_.elements.size()),
                    static_cast<std::int64_t>(proof_.cuts.size()), rank_))
        return std::move(proof_);
    }
    if (std::holds_alternative<Satisfiable>(answer)) {
      if (size == side_.elements) return OrdersExist{};
      oriented_.push_back(std::move(elements));
    }
    if (const auto* none = std::get_if<NoAnswer>(&answer))
      return part_.over() ? time_over() : OrdersUnknown{none->why};
    return std::nullopt;
  }

  /// Asks about these elements. Relations are added when an orientation violates them. If the
  /// elements are refuted, the proof is kept. Gives up a formula after `conflicts` conflicts.
  ClauseAnswer ask(const Elements& elements, const Cuts& cuts, std::int64_t conflicts) {
    const auto size = static_cast<std::int64_t>(elements.size());
    OrderFormula formula = order_formula(size, rank_, cuts.plus);
    ClauseAnswer answer = refute_clauses(formula.formula, conflicts, part_);
    while (const auto* found = std::get_if<Satisfiable>(&answer)) {
      if (add_broken_relations(formula, size, rank_, found->values) == 0) break;
      if (static_cast<double>(formula.formula.clauses) > most_clauses) return Undecided{};
      answer = refute_clauses(formula.formula, conflicts, part_);
    }
    if (auto* proof = std::get_if<ClauseProof>(&answer)) keep(elements, cuts, formula, *proof);
    return answer;
  }

  void keep(const Elements& elements, const Cuts& cuts, const OrderFormula& formula,
            ClauseProof& proof) {
    const OrderFormula::Core core = formula.core(proof.used);
    const std::vector<std::int64_t>& element_of =
        side_.of_columns ? signs_.column_of : signs_.row_of;
    const std::vector<std::int64_t>& cut_of = side_.of_columns ? signs_.row_of : signs_.column_of;
    proof_ = {.of_columns = side_.of_columns,
              .elements = {},
              .cuts = {},
              .clauses = std::move(proof.learnt)};
    for (const std::int64_t e : elements)
      proof_.elements.push_back(element_of[static_cast<std::size_t>(e)]);
    for (const std::int32_t c : core.cuts)
      proof_.cuts.push_back(
          cut_of[static_cast<std::size_t>(cuts.which[static_cast<std::size_t>(c)])]);
    elements_ = elements;
    needed_ = core.elements;
  }

  /// Drops elements from the proof: first those that it does not use, then any without which there
  /// is another proof.
  void drop() {
    double clauses = 0;
    const auto refuted_without = [&](std::uint64_t places) {
      Elements fewer;
      for (std::size_t i = 0; i < elements_.size(); ++i)
        if ((places >> i & 1U) == 0) fewer.push_back(elements_[i]);
      const Cuts cuts = cuts_of(fewer);
      clauses += circuit_clauses(static_cast<std::int64_t>(fewer.size()),
                                 static_cast<std::int64_t>(cuts.plus.size()), rank_);
      if (clauses > most_clauses_for_dropping) return false;
      const auto conflicts = 1000 + 2 * static_cast<std::int64_t>(proof_.clauses.size());
      return std::holds_alternative<ClauseProof>(ask(fewer, cuts, conflicts));
    };
    const auto unused = [&] { return low_bits(elements_.size()) & ~needed_; };
    // Only the first `untried` elements are still to be tried.
    std::size_t untried = elements_.size();
    while (untried > 0 && !part_.over()) {
      const bool some_unused = unused() != 0;
      const std::uint64_t out = some_unused ? unused() : std::uint64_t{1} << (untried - 1);
      const int gone = std::popcount(out & low_bits(untried));
      const bool refuted = refuted_without(out);
      if (some_unused && !refuted) break;  // the time is over, or the clauses were too many
      untried -= static_cast<std::size_t>(gone);
    }
  }

  const SignMatrix& signs_;
  const Side& side_;
  std::int64_t rank_;
  std::uint64_t seed_;
  Clock::Part& part_;
  std::uint64_t attempts_ = 0;
  std::vector<Elements> oriented_;    // sets that have orientations
  std::map<Elements, double> spent_;  // the effort of the last attempt
  OrderProof proof_;
  Elements elements_;         // of the proof
  std::uint64_t needed_ = 0;  // those of elements_ that the proof uses
};

}  // namespace

OrdersAnswer find_order_proof(const SignMatrix& signs, const Side& side, std::int64_t dim,
                              std::uint64_t seed, Clock::Part& part) {
  const std::int64_t rank = dim + 1;
  if (side.elements <= rank) return OrdersExist{};
  if (!checkable(rank + 1, 1, rank))
    return OrdersUnknown{fmt::format("{} dimensions are too many", dim)};
  return Search(signs, side, rank, seed, part).run();
}

OrdersAnswer find_order_proof(const SignMatrix& signs, std::int64_t dim, std::uint64_t seed,
                              Clock::Part& part) {
  return find_order_proof(signs,
                          signs.cols <= signs.rows ? side_of_columns(signs) : side_of_rows(signs),
                          dim, seed, part);
}

}  // namespace tamis::lab::decision
