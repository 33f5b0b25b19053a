// The first look estimates the weight of every coded key from plane 0, or from planes 0 and 1 at
// once. For each block it costs rows·128·d multiply-adds of 8 bits and reads record_bytes bytes,
// plus key_plane_bytes for the second plane.
#pragma once

#include "sieve/arena.h"
#include "sieve/problem.h"

namespace tamis::sieve {

/// The result of a look at one block for one row. The estimated weight ê of a key that the row does
/// not see, and of a raw token, is 0.
struct Looked {
  float sum;                                  ///< Σ ê
  float most;                                 ///< the largest ê
  std::array<float, cache::most_levels> psi;  ///< |e − ê| ≤ psi[l]·ê for an estimate of level l
  float step;                                 ///< the folded query is `step` times integers
  std::int32_t sum_x;                         ///< the sum of these integers
};

/// Typical distances of a block's values, for choosing what to read.
struct LookedValues {
  float spread;   ///< root mean square distance from the mean of the block
  float missing;  ///< approximate root mean square distance from the values of level 0
};

/// The results of the look at all blocks of a problem.
struct Look {
  Look(const Problem& problem, int planes, Arena& arena);

  int planes;  ///< number of planes that are read; estimates are of level planes − 1
  int rows;
  std::int64_t d32;
  float* weight;         ///< blocks × rows × 128: ê relative to the reference of the span
  std::int16_t* folded;  ///< blocks × rows × d32: the folded queries as integers
  Looked* looked;        ///< blocks × rows
  LookedValues* values;  ///< one per block
  double* reference;     ///< spans × rows, integers
  bool* sane;  ///< one per span: logits are finite, and the widths of all levels are below `widest`

  [[nodiscard]] float* weights(std::int64_t block, int r) const {
    return weight + (block * rows + r) * page_tokens;
  }
  [[nodiscard]] std::int16_t* integers(std::int64_t block) const {
    return folded + block * rows * d32;
  }
  [[nodiscard]] Looked& at(std::int64_t block, int r) const { return looked[block * rows + r]; }
  [[nodiscard]] double& reference_of(std::int64_t span, int r) const {
    return reference[span * rows + r];
  }
};

/// Floats of scratch memory that look_span() needs.
std::int64_t look_scratch(const Problem& problem);
/// Looks at the blocks of one span and fills in their part of `look`. Different spans may be looked
/// at by different threads.
void look_span(const Problem& problem, std::int64_t span, float* scratch, const Look& look);

}  // namespace tamis::sieve
