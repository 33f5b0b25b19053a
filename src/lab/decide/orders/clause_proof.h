// Are clauses contradictory? Asked of the program cadical, whose proof is replayed here by unit
// propagation and cut down to the steps that the contradiction needs.
#pragma once

#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include "lab/decide/clock.h"

namespace tamis::lab::decision {

struct Formula {
  std::int32_t variables = 0;
  std::int64_t clauses = 0;
  std::vector<std::int32_t> literals;  ///< of the clauses, each followed by a 0
};

struct ClauseProof {
  std::vector<std::vector<std::int32_t>>
      learnt;                      ///< each follows by reverse unit propagation; the last is empty
  std::vector<std::int64_t> used;  ///< the clauses of the formula that this takes, ascending
};
struct Satisfiable {
  std::vector<bool> values;  ///< by variable, from 0
};
/// It took more conflicts than allowed.
struct Undecided {};
struct NoAnswer {
  std::string why;  ///< a clause
};
using ClauseAnswer = std::variant<ClauseProof, Satisfiable, Undecided, NoAnswer>;

/// One run of cadical, given up after `conflicts` conflicts (−1: none), and about as long for the
/// replay. Beside cadical's own memory, 100 bytes per clause and 4 per step of a propagation that a
/// learnt clause needs. The same answer every time, but for a part that ends before. Throws `io` if
/// temporary files cannot be written.
ClauseAnswer refute_clauses(const Formula& formula, std::int64_t conflicts, Clock::Part& part);

}  // namespace tamis::lab::decision
