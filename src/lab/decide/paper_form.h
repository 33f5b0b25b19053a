// Queries and keys in the form of the paper: q = x·w_q and k = x·w_k, with x of d_hid columns.
#pragma once

#include <cstdint>

#include <tamis/lab/witness.h>

namespace tamis::lab::decision {

/// Returns the witness of n queries and n keys of d columns with x, w_q and w_k of hidden size
/// H = d_hid, without rounding. If H ≥ 2d, then x = [q | k]; else, if H ≥ n, x is the identity;
/// further columns are zero. Takes n·H + 2·H·d numbers of the type of q. Throws `usage` for any
/// other H.
[[nodiscard]] Witness with_paper_form(Witness witness, std::int64_t hidden);

}  // namespace tamis::lab::decision
