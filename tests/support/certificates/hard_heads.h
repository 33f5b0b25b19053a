// Attention heads built to break certificates, with knowledge of how these are derived: bounds far
// above the truth, references that follow such bounds, blocks whose weights differ by more octaves
// than floats can represent, and numbers at the ends of their ranges. Random numbers hardly ever
// have these properties.
#pragma once

#include <cstdint>
#include <random>

#include "support/certificates/kinds.h"

namespace tamis::test {

/// One KV head and a few query rows.
struct HardHead {
  Shape shape;
  std::int64_t tokens = 0;
  std::int64_t sinks = 0;
  std::int64_t tail = 0;  ///< tokens at the end that must stay raw
  float value_size = 1;
  Numbers numbers;
};

/// Draws a head of 2 to 12 blocks, whose logits are in octaves (powers of two). Channel 0 of a key
/// is the level of its block, channel 1 its distance from that level, and the other channels come
/// in pairs that cancel under the query: their coding error widens bounds and moves no logit. One
/// head in four has ordinary numbers instead.
HardHead draw_hard(std::mt19937_64& random);

/// Changes a head a little, or redraws one of its blocks.
void change(HardHead& head, std::mt19937_64& random);

}  // namespace tamis::test
