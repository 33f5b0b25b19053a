// Which of many elements to ask about together.
#pragma once

#include <cstdint>
#include <vector>

#include "lab/decide/clock.h"
#include "lab/decide/sign_matrix.h"
#include "lab/numbers/random.h"

namespace tamis::lab::decision {

/// Elements on which the cuts differ most ask for much; those on which they differ least, as on
/// columns that share their rows, are where sparse patterns contradict themselves.
enum class Tell { most, least };

/// Some element and more, up to `count` or all of them, one after the other: each tells most
/// (least) classes of cuts apart, cuts being of one class if they are equal or opposite on the
/// elements before. The first is drawn from the stream, and so is the choice among equals. Each
/// costs at most a word for every element and cut, and a 64th of that while few cuts differ. Fewer
/// if the part ends.
std::vector<std::int64_t> telling_elements(const Side& side, std::int64_t count, Tell tell,
                                           const numbers::Stream& stream, Clock::Part& part);

}  // namespace tamis::lab::decision
