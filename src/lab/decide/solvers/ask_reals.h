// Asks the solvers that are installed, z3 and cvc5, whether a pattern has a weak witness of a
// dimension. Complete in principle; in practice for a few dozen unknowns.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <tamis/lab/pattern.h>
#include <tamis/lab/refutation.h>
#include "lab/decide/clock.h"
#include "lab/realise/seal.h"

namespace tamis::lab::decision {

struct SolverAnswer {
  std::optional<realisation::Sealed> witness;  ///< yes: verified in exact arithmetic
  std::optional<SolverSaid> refuted;  ///< no: by the first run's word, which no run contradicts
  bool without_sharing = false;       ///< refuted even for free queries and keys
  std::vector<SolverSaid::Run> runs;  ///< all of them, in order
  std::string outcome;                ///< a clause that says what came of it
};

/// Until there is an answer or `part` is over. One solver is asked again and again, with other
/// vectors fixed, for its time is a matter of luck, then about cases by the signs of vectors, each
/// for longer and longer; others are asked about what it says is unsatisfiable, in twice its time.
/// If one says sat and another unsat neither is believed. Solvers that are not installed are passed
/// over; each runs in a process of its own with 2 GiB. `hidden` needs a square pattern and dim ≤
/// hidden; without it queries and keys are free. Throws `io` if a problem cannot be written for
/// them.
SolverAnswer ask_reals(const Pattern& pattern, std::int64_t dim, std::optional<std::int64_t> hidden,
                       int threads, Clock::Part& part);

}  // namespace tamis::lab::decision
