// Witnesses in closed form: dimension 2k for every pattern with at most k nonzeros in a row,
// whatever n, ε₁, ε₂ and γ, in exact arithmetic; the price is the size of the logits.
//
// Keys are points of a curve. On it there is, for every row i with nonzeros S, a function P ≥ 0 of
// degree |S| that is zero on S alone (curve.h), and one of lower degree with given values on S,
//   r(t) = Σ_s v_s·∏_{l ≠ s} gap(t, l)/gap(s, l),      v_s = log A_is − max_l log A_il ≤ 0,
// which is nowhere positive. Query i holds the coefficients of r − β·P; constants drop out of a
// row. Then (24) holds with nothing to spare, and (23) if β·P(t_j) > r(t_j) − min_s v_s + log(1/ε₁)
// at every zero j.
#pragma once

#include <string>

#include <tamis/lab/pattern.h>
#include <tamis/lab/verify.h>
#include <tamis/lab/witness.h>
#include <tamis/progress.h>
#include "lab/realise/candidate.h"
#include "lab/realise/curve/curve.h"

namespace tamis::lab::realisation {

/// For each row the least β that satisfies the conditions with 0.1 % to spare; where the rounding
/// of `hold_in` spoils that, the least of ten multiples up to 16 that holds there (f32: also with
/// numbers rounded to f32); where none does, the same for f64; where that fails too, the least β.
/// Not verified here: the caller's verification says in which arithmetic all rows hold.
/// rows·columns·k² operations, and a few times rows·columns·2k; 8·(rows + columns)·2k bytes for the
/// result and 28·columns·2k beside it. Throws `usage` if a query would be beyond f64.
/// Deterministic, for any number of threads. Progress counts rows.
Candidate moment(const Pattern& pattern, const Conditions& conditions, MomentKind kind,
                 Arithmetic hold_in, int threads, const ProgressCallback& progress = {});

/// A clause that says in which arithmetic a witness does not hold, and by how much it misses; empty
/// if it holds in all: "f32 cannot hold the margin (3 rows fail, row 17 by 0.21)".
std::string arithmetic_shortfall(const Verification& verification);

}  // namespace tamis::lab::realisation
