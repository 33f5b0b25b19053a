// The first look: an estimate of every coded key's weight from plane 0, or from planes 0 and 1 at
// once. Costs rows·128·d multiply-adds of 8 bits a block, and reads record_bytes of it, for two
// planes key_plane_bytes more.
#pragma once

#include "sieve/arena.h"
#include "sieve/problem.h"

namespace tamis::sieve {

/// What a look leaves of a block for one row. Weights of keys that the row does not see, and of raw
/// tokens, are 0.
struct Looked {
  float sum;                                  ///< Σ ê
  float most;                                 ///< the largest ê
  std::array<float, cache::most_levels> psi;  ///< |e − ê| ≤ psi[l]·ê for an estimate of level l
  float step;                                 ///< of the integers that the query was folded to
  std::int32_t sum_x;                         ///< of these
};

/// What is known of a block's values, for choosing what to read.
struct LookedValues {
  float spread;   ///< root mean square distance from their mean
  float missing;  ///< the same from what plane 0 says of them, about
};

struct Look {
  Look(const Problem& problem, int planes, Arena& arena);

  int planes;  ///< that it reads; what it estimates is of level planes − 1
  int rows;
  std::int64_t d32;
  float* weight;         ///< blocks × rows × 128, relative to the reference of the span
  std::int16_t* folded;  ///< blocks × rows × d32
  Looked* looked;        ///< blocks × rows
  LookedValues* values;  ///< blocks
  double* reference;     ///< spans × rows: integers
  bool* sane;            ///< per span: logits are finite, and widths of all levels at most `widest`

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

/// Floats of scratch for one thread.
std::int64_t look_scratch(const Problem& problem);
/// Fills in what `look` holds for a span.
void look_span(const Problem& problem, std::int64_t span, float* scratch, const Look& look);

}  // namespace tamis::sieve
