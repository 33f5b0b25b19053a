// The visit of a span after its look: keys above the waterline are sharpened, then values are read,
// and both added up. Nothing of the look is changed: a visit by a lower waterline starts from it
// again.
#pragma once

#include "sieve/look.h"
#include "sieve/waterline.h"

namespace tamis::sieve {

/// What a visit read, all rows together.
struct Reads {
  std::array<std::int64_t, cache::most_levels>
      key_rows{};  ///< rows of each plane of keys, after the look
  std::array<std::int64_t, cache::most_levels> value_rows{};  ///< of values

  Reads& operator+=(const Reads& other) {
    for (std::size_t p = 0; p < key_rows.size(); ++p) {
      key_rows[p] += other.key_rows[p];
      value_rows[p] += other.value_rows[p];
    }
    return *this;
  }
};

struct Visits {
  Visits(const Problem& problem, Arena& arena);

  int rows;
  std::int64_t value_d32;
  Partial* partial;  ///< spans × rows
  float* out;        ///< spans × rows × value_d32: Σ ê·v̂
  float* spread;     ///< blocks × rows: Σ δ
  Reads* reads;      ///< spans

  [[nodiscard]] Partial& at(std::int64_t span, int r) const { return partial[span * rows + r]; }
  [[nodiscard]] float* out_of(std::int64_t span, int r) const {
    return out + (span * rows + r) * value_d32;
  }
  [[nodiscard]] float& spread_of(std::int64_t block, int r) const {
    return spread[block * rows + r];
  }
};

std::int64_t visit_scratch(const Problem& problem);
void visit_span(const Problem& problem, const Look& look, const Waterline& line, std::int64_t span,
                float* scratch, const Visits& visits);

}  // namespace tamis::sieve
