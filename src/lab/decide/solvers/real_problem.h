// The decision as a problem for a solver over the reals, which is satisfiable if and only if the
// pattern has a weak witness of the dimension asked about. Whatever a change of basis can fix is
// fixed, which leaves no continuous family of equivalent solutions.
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
  /// SMT-LIB 2, QF_NRA: comments that say what it means, then everything up to the last assertion.
  std::string text;
  std::vector<std::string> unknowns;  ///< names of the unknowns in the text
  /// For every free vector, the terms of its entries, which sum to 1. Cases by the signs of these
  /// entries are easier than the whole problem. They lose nothing, because vectors in general
  /// position have no entry 0.
  std::vector<std::vector<std::string>> cases;
  /// Makes a witness from values of the unknowns, or returns nothing if they are not a solution in
  /// f64. Refers to the arguments from which the problem was made.
  std::function<std::optional<realisation::Sealed>(std::span<const double>)> seal;
};

/// Problems with more products than this are not written, because no solver decides them.
inline constexpr std::int64_t most_products = 20'000;

/// The problem for free queries and keys. It has dim·(rows + columns − dim − 2) unknowns, with rows
/// and columns as in `signs`. With s elements on the smaller side it has s − dim − 1 products of
/// vectors for each element of the other side. `attempt` chooses the elements that are fixed: all
/// choices give the same answer, in times that differ by orders of magnitude. Nothing if the
/// problem is too large.
std::optional<RealProblem> free_problem(const Pattern& pattern, const SignMatrix& signs,
                                        std::int64_t dim, std::uint64_t attempt, int threads);

/// The problem for queries and keys that share inputs of `hidden` columns, dim ≤ hidden, for square
/// patterns. It has at most (n − dim − 1)·dim unknowns for the keys and n·dim for the queries.
/// Nothing if the problem is too large.
std::optional<RealProblem> shared_problem(const Pattern& pattern, std::int64_t dim,
                                          std::int64_t hidden, std::uint64_t attempt, int threads);

/// The comment at the beginning of a problem: the question, and the pattern row by row.
std::string problem_comment(const Pattern& pattern, std::int64_t dim,
                            std::optional<std::int64_t> hidden);

/// The numbers 0 … n − 1 in an order that depends on the attempt; ascending for attempt 0.
std::vector<std::int64_t> attempt_order(std::int64_t n, std::uint64_t attempt);

}  // namespace tamis::lab::decision
