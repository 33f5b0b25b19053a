// Thresholds, twice: after the scan, which keys to refine; after refining, which keys to read exactly and
// which values to read. Each threshold is found by a walk on a fixed grid; an ask is one parallel pass over
// the spans of a head, an answer a few operations. See docs/certificates.md, "What is read".
#pragma once

#include "sieve/step.h"

namespace tamis {

/// Direct: whether dense attention is sooner whatever the numbers are: few channels, or a context so short
/// that a forecast, some 14 µs for four rows, would be felt.
bool never_sooner(const Step& step);
/// Whether the sampled blocks forecast that dense attention meets a budget of mass sooner. Before the scan.
/// `warm` as below.
bool dense_is_cheaper(Step& step, float* warm);

/// Direct: which keys to read exactly and which values to read, from the estimates of all keys. False if no
/// choice meets the budget. `warm` as below.
bool select_direct(Step& step, float* warm);

/// Which keys to refine: sets every row's `coarse`. Looks at a sample of blocks. `warm` holds a number per
/// row from one step to the next, NaN at first; it makes the walk shorter and changes nothing else.
void select_coarse(Step& step, float* warm);

/// Before refining: the first questions about what refining will find. It asks them as it goes, block by
/// block, while what it found is in the cache.
void plan_fine(Step& step);
void ask_refined(Step& step, std::int64_t block);
/// Which keys to read exactly and which values to read: the answers so far. False if what was not refined
/// exceeds a budget of mass already: refine more, planning with less.
bool select_fine(Step& step);
/// While there are open questions, further ones. Asking is per span and may run in parallel.
bool open_fine(const Step& step);
void ask_fine(Step& step, std::int64_t span);
void answer_fine(Step& step);
/// Sets the masks of a span's blocks by the thresholds found.
void mark_fine(Step& step, std::int64_t span);

}  // namespace tamis
