// Asks the installed solvers, z3 and cvc5, whether a pattern has a weak witness of a dimension. The
// method is complete in principle; in practice it works for a few dozen unknowns.
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
  std::optional<realisation::Sealed> witness;  ///< if yes: verified in exact arithmetic
  std::optional<SolverSaid> refuted;  ///< if no: by the first run, which no other run contradicts
  bool without_sharing = false;       ///< the refutation holds even for free queries and keys
  std::vector<SolverSaid::Run> runs;  ///< all of them, in order
  std::string outcome;                ///< a clause for messages
};

/// Asks until there is an answer or `part` is over. One solver is asked repeatedly: with other
/// vectors fixed, because its time is a matter of luck, then about cases by the signs of vectors,
/// each time for longer. The other solvers are asked about what it finds unsatisfiable, for twice
/// its time. If one says sat and another unsat, neither is believed. Solvers that are not installed
/// are skipped; each runs in its own process with 2 GiB. `hidden` needs a square pattern and dim ≤
/// hidden; without it queries and keys are free. Throws `io` if a problem file cannot be written.
SolverAnswer ask_reals(const Pattern& pattern, std::int64_t dim, std::optional<std::int64_t> hidden,
                       int threads, Clock::Part& part);

}  // namespace tamis::lab::decision
