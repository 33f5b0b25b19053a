// Thresholds, twice: after the scan, which keys to refine; after refining, which keys to read exactly and
// which values to read. Each threshold is found by a walk on a fixed grid; an ask is one parallel pass over
// the spans of a head, an answer a few operations. See docs/certificates.md, "What is read".
#pragma once

#include "sieve/step.h"

namespace tamis {

/// Bytes that reading costs, from the layout and the type of K and V.
struct Prices {
  explicit Prices(const Step& step);
  double middle_key, exact_key, middle_value, exact_value;
};

/// What a budget of mass would read of the sampled blocks, scaled up to all. Also where its thresholds lie.
struct Forecast {
  double middle_keys, exact_keys, middle_values, exact_values;
};
/// Only for budgets of mass, after `sample` and `pin`. Sets every row's walk to start near the answer.
Forecast forecast(Step& step);

/// `warm`: rows numbers kept from one step to the next, NaN at first.
void start_coarse(Step& step, const float* warm);
/// Whether a stage still has questions. Asking is per span and may run in parallel.
bool open_coarse(const Step& step);
void ask_coarse(Step& step, std::int64_t span);
void answer_coarse(Step& step);
void finish_coarse(Step& step, float* warm);

void start_fine(Step& step);
bool open_fine(const Step& step);
void ask_fine(Step& step, std::int64_t span);
void answer_fine(Step& step);
/// Sets the masks of a span's blocks by the thresholds found.
void mark_fine(Step& step, std::int64_t span);

}  // namespace tamis
