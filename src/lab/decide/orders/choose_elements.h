// Chooses which of many elements to ask about together.
#pragma once

#include <cstdint>
#include <vector>

#include "lab/decide/clock.h"
#include "lab/decide/sign_matrix.h"
#include "lab/numbers/random.h"

namespace tamis::lab::decision {

/// Whether to choose elements on which the cuts differ most or least. The former set many
/// conditions; the latter, such as columns that share their rows, are where sparse patterns
/// contradict themselves.
enum class Tell { most, least };

/// Chooses up to `count` elements, or all of them, one after the other. Each splits the most (or
/// the fewest) classes of cuts, where two cuts are in one class if they are equal or opposite on
/// the elements chosen before. The first element is drawn from the stream, and so is the choice
/// among equals. Each element costs at most a word for every element and cut, and a 64th of that
/// while few cuts differ. Returns fewer elements if the part ends.
std::vector<std::int64_t> telling_elements(const Side& side, std::int64_t count, Tell tell,
                                           const numbers::Stream& stream, Clock::Part& part);

}  // namespace tamis::lab::decision
