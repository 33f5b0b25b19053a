// Each clause has two watched literals and is visited only when one of them becomes false.
#include "lab/verify/unit_propagation.h"

#include <algorithm>
#include <utility>

namespace tamis::lab::verification {

UnitPropagation::UnitPropagation(std::int32_t variables)
    : watches_(2 * static_cast<std::size_t>(variables) + 2),
      value_(2 * static_cast<std::size_t>(variables) + 2, 0),
      reason_(static_cast<std::size_t>(variables) + 1, assumed),
      needed_(static_cast<std::size_t>(variables) + 1, false) {}

void UnitPropagation::set(Literal l, std::int64_t reason) {
  value_[l] = 1;
  value_[l ^ 1U] = -1;
  reason_[l / 2] = reason;
  trail_.push_back(l);
}

void UnitPropagation::undo(std::size_t length) {
  for (std::size_t i = length; i < trail_.size(); ++i)
    value_[trail_[i]] = value_[trail_[i] ^ 1U] = 0;
  trail_.resize(length);
  seen_ = length;
}

void UnitPropagation::add(std::span<const std::int32_t> clause) {
  const auto number = static_cast<std::int64_t>(start_.size()) - 1;
  const std::size_t begin = literals_.size();
  for (std::int32_t literal : clause) literals_.push_back(coded(literal));
  const auto first = literals_.begin() + static_cast<std::ptrdiff_t>(begin);
  std::sort(first, literals_.end());
  literals_.erase(std::unique(first, literals_.end()), literals_.end());
  start_.push_back(literals_.size());
  const std::span<Literal> own = literals(number);
  // The two literals of a variable are neighbours.
  const auto opposite = [](Literal a, Literal b) { return (a ^ b) == 1U; };
  if (contradiction() || std::adjacent_find(own.begin(), own.end(), opposite) != own.end()) return;

  std::size_t left = 0;  // literals that are not false, moved to the front
  for (std::size_t i = 0; i < own.size() && left < 2; ++i)
    if (!is_false(own[i])) std::swap(own[i], own[left++]);
  if (left == 0) {
    conflict_ = number;
  } else if (left == 1) {
    if (!is_true(own[0])) {
      set(own[0], number);
      conflict_ = propagate();
    }
  } else {
    watches_[own[0]].push_back({number, own[1]});
    watches_[own[1]].push_back({number, own[0]});
  }
}

/// Visits a clause one of whose watched literals, `gone`, became false. Returns false if the clause
/// has no literal left.
bool UnitPropagation::visit(std::int64_t clause, Literal gone, std::size_t& kept,
                            std::vector<Watch>& watches) {
  const std::span<Literal> own = literals(clause);
  if (own[0] == gone) std::swap(own[0], own[1]);
  if (!is_true(own[0])) {
    for (std::size_t i = 2; i < own.size(); ++i) {
      if (is_false(own[i])) continue;
      std::swap(own[1], own[i]);
      watches_[own[1]].push_back({clause, own[0]});
      return true;
    }
  }
  watches[kept++] = {clause, own[0]};
  if (is_false(own[0])) return false;
  if (!is_true(own[0])) set(own[0], clause);
  return true;
}

std::int64_t UnitPropagation::propagate() {
  while (seen_ < trail_.size()) {
    const Literal gone = trail_[seen_++] ^ 1U;
    // This list does not grow meanwhile: no clause moves its watch to a false literal.
    std::vector<Watch>& watches = watches_[gone];
    std::size_t kept = 0;
    for (std::size_t i = 0; i < watches.size(); ++i) {
      const Watch watch = watches[i];
      if (is_true(watch.other)) {
        watches[kept++] = watch;
      } else if (!visit(watch.clause, gone, kept, watches)) {
        std::copy(watches.begin() + static_cast<std::ptrdiff_t>(i) + 1, watches.end(),
                  watches.begin() + static_cast<std::ptrdiff_t>(kept));
        watches.resize(kept + watches.size() - i - 1);
        return watch.clause;
      }
    }
    watches.resize(kept);
  }
  return -1;
}

/// Appends to `used` the clause `conflict` (if it is not −1), the reasons of its literals, the
/// reasons of their other literals, and so on.
void UnitPropagation::collect(std::int64_t conflict, std::vector<std::int64_t>& used) {
  const auto need = [&](std::int64_t clause) {
    used.push_back(clause);
    for (Literal l : literals(clause)) needed_[l / 2] = true;
  };
  if (conflict >= 0) need(conflict);
  for (std::size_t i = trail_.size(); i-- > 0;) {
    const std::size_t variable = trail_[i] / 2;
    if (needed_[variable] && reason_[variable] != assumed) need(reason_[variable]);
    needed_[variable] = false;
  }
}

bool UnitPropagation::implies(std::span<const std::int32_t> clause,
                              std::vector<std::int64_t>* used) {
  if (used != nullptr) used->clear();
  const std::size_t length = trail_.size();
  std::int64_t conflict = conflict_;
  bool follows = contradiction();
  for (std::size_t i = 0; i < clause.size() && !follows; ++i) {
    const Literal l = coded(clause[i]);
    if (is_true(l)) {  // forced already, or the clause holds v and −v
      follows = true;
      needed_[l / 2] = used != nullptr;
    } else if (!is_false(l)) {
      set(l ^ 1U, assumed);
    }
  }
  if (!follows) {
    conflict = propagate();
    follows = conflict >= 0;
  }
  if (follows && used != nullptr) collect(conflict, *used);
  undo(length);
  return follows;
}

}  // namespace tamis::lab::verification
