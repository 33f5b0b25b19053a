// Decides dimension 1 by the paper's Algorithm 1 with its steps 8–11 corrected (docs/errata.md), in
// time and memory linear in rows + columns + nonzeros.
#pragma once

#include <cstdint>
#include <optional>
#include <variant>

#include <tamis/lab/pattern.h>
#include <tamis/lab/refutation.h>
#include <tamis/lab/witness.h>

namespace tamis::lab::decision {

/// Returns a witness, not yet verified, or a refutation of dimension 1. `hidden` = 1 asks for L =
/// c·x·xᵀ and needs a square pattern, else it throws `input`; other values, or none, leave queries
/// and keys free. The witness holds q and k of one column, small integers in f32 (f64 beyond 2^24
/// rows); for `hidden` = 1 it holds x, w_q and w_k instead.
std::variant<Witness, Refutation> decide_line(const Pattern& pattern,
                                              std::optional<std::int64_t> hidden);

}  // namespace tamis::lab::decision
