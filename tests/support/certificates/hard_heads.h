// Heads made to break certificates, by somebody who has read how they are derived: bounds far above
// the truth, references that follow such bounds, blocks whose weights differ by more octaves than
// floats have, and numbers at the ends of ranges. Random numbers hardly ever look like that.
#pragma once

#include <cstdint>
#include <random>

#include "support/certificates/kinds.h"

namespace tamis::testing {

/// One KV head and a few rows of queries.
struct HardHead {
  Shape shape;
  std::int64_t tokens = 0;
  std::int64_t sinks = 0;
  std::int64_t tail = 0;  ///< tokens at the end that are not to be coded
  float value_size = 1;
  Numbers numbers;
};

/// A head of 2 to 12 blocks. Logits are octaves. Channel 0 of a key is the level of its block,
/// channel 1 its place above or below it, the others go in pairs that cancel under the query: what
/// codes miss of them widens bounds and moves no logit.
HardHead draw_hard(std::mt19937_64& random);

/// Changes a head a little, or one block of it altogether.
void change(HardHead& head, std::mt19937_64& random);

}  // namespace tamis::testing
