// Finds out whether clauses contradict each other. It runs the program cadical, replays its proof
// by unit propagation and cuts the proof down to the steps that the contradiction needs.
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
  std::vector<std::int32_t> literals;  ///< of all clauses, each clause followed by a 0
};

struct ClauseProof {
  /// Each clause follows by reverse unit propagation; the last is empty.
  std::vector<std::vector<std::int32_t>> learnt;
  std::vector<std::int64_t> used;  ///< clauses of the formula that the proof needs, ascending
};
struct Satisfiable {
  std::vector<bool> values;  ///< by variable, from 0
};
/// cadical met more conflicts than allowed.
struct Undecided {};
struct NoAnswer {
  std::string why;  ///< a clause for messages
};
using ClauseAnswer = std::variant<ClauseProof, Satisfiable, Undecided, NoAnswer>;

/// Runs cadical once and gives up after `conflicts` conflicts (−1: no limit). The replay takes
/// about as long. Memory, beside cadical's own: 100 bytes per clause, and 4 per step of each
/// propagation that a learnt clause needs. The answer is the same every time, unless the part ends
/// before. Throws `io` if temporary files cannot be written.
ClauseAnswer refute_clauses(const Formula& formula, std::int64_t conflicts, Clock::Part& part);

}  // namespace tamis::lab::decision
