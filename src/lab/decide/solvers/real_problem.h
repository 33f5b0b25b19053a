// The decision as a question to a solver over the reals: satisfiable if and only if the pattern has
// a weak witness of the dimension asked about. Free of symmetries: whatever a change of basis can
// fix is fixed, which leaves no continuous family of solutions that are the same.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <tamis/lab/pattern.h>
#include "lab/decide/sign_matrix.h"
#include "lab/realise/seal.h"

namespace tamis::lab::decision {

struct RealProblem {
  std::string
      text;  ///< SMT-LIB 2, QF_NRA, from comments that say what it means to the last assertion
  std::vector<std::string> unknowns;  ///< their names in the text
  /// For every vector that is free, the terms of its entries, which sum to 1. Cases by their signs
  /// are easier than the whole: nothing is lost, for vectors in general position have no entry 0.
  std::vector<std::vector<std::string>> cases;
  /// A witness made from numbers for the unknowns, or nothing if in f64 they are not a solution. It
  /// refers to what the problem was made from.
  std::function<std::optional<realisation::Sealed>(std::span<const double>)> seal;
};

/// Problems with more products than this are not written: no solver decides them.
inline constexpr std::int64_t most_products = 20'000;

/// Queries and keys free: dim·(rows + columns − dim − 2) unknowns, rows and columns counted as
/// `signs` has them, and as many products of two as the smaller side without dim + 1 of its
/// elements times the other. `attempt` chooses the elements that are fixed: all give the same
/// answer, in times that differ by orders of magnitude. Nothing if it is too large.
std::optional<RealProblem> free_problem(const Pattern& pattern, const SignMatrix& signs,
                                        std::int64_t dim, std::uint64_t attempt, int threads);

/// Queries and keys that share inputs of `hidden` columns, dim ≤ hidden; square patterns. Its
/// unknowns are at most (n − dim − 1)·dim for the keys and n·dim for the queries.
std::optional<RealProblem> shared_problem(const Pattern& pattern, std::int64_t dim,
                                          std::int64_t hidden, std::uint64_t attempt, int threads);

/// The comment that such a text begins with: the question, and the pattern row by row.
std::string problem_comment(const Pattern& pattern, std::int64_t dim,
                            std::optional<std::int64_t> hidden);

/// 0 … n − 1 in an order of its own for every attempt; as they are for attempt 0.
std::vector<std::int64_t> attempt_order(std::int64_t n, std::uint64_t attempt);

}  // namespace tamis::lab::decision
