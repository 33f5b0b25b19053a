// Witnesses in closed form, method moment: dimension 2k for every pattern with at most k nonzeros
// in a row, whatever n, ε₁, ε₂ and γ, in exact arithmetic. Their price is the size of the logits.
//
// Keys are points of a curve. For every row i with nonzeros S there is a function P ≥ 0 of degree
// |S| on the curve that is zero on S alone (curve.h), and a function r of lower degree with given
// values on S, which is nowhere positive:
//   r(t) = Σ_s v_s·∏_{l ≠ s} gap(t, l)/gap(s, l),      v_s = log A_is − max_l log A_il ≤ 0.
// Query i holds the coefficients of r − β·P; constants drop out of a row of the softmax. Then (24)
// holds exactly, and (23) holds if β·P(t_j) > r(t_j) − min_s v_s + log(1/ε₁) at every zero j.
#pragma once

#include <tamis/lab/pattern.h>
#include <tamis/lab/verify.h>
#include <tamis/lab/witness.h>
#include <tamis/progress.h>
#include "lab/realise/candidate.h"
#include "lab/realise/curve/curve.h"

namespace tamis::lab::realisation {

/// Makes a candidate of dimension 2k. For each row it takes the least β that satisfies the
/// conditions with 0.1 % to spare. If the rounding of `hold_in` spoils that, it takes the least of
/// ten multiples, up to 16, that holds in that arithmetic (for f32 also with numbers rounded to
/// f32); if none does, the same for f64; if that fails too, the least β. The result is not verified
/// here: the caller's verification says in which arithmetic all rows hold.
///
/// Time: rows·columns·k² operations, and a few times rows·columns·2k. Memory: 8·(rows + columns)·2k
/// bytes for the result and 28·columns·2k beside it. Throws `usage` if a query would be beyond f64.
/// Deterministic for any number of threads. Progress counts rows.
Candidate moment(const Pattern& pattern, const Conditions& conditions, Arithmetic hold_in,
                 int threads, const ProgressCallback& progress = {});

}  // namespace tamis::lab::realisation
