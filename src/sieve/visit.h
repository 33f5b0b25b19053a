// The visit of a span after its look: it sharpens the keys above the waterline, then reads values,
// and adds both up. It does not change the look, so that a visit with another waterline can start
// from the same look.
#pragma once

#include "sieve/look.h"
#include "sieve/waterline.h"

namespace tamis::sieve {

/// How many rows of each plane of keys and of values a visit read, without those of the look. Rows
/// that several queries share are counted once.
struct Reads {
  std::array<std::int64_t, cache::most_levels> key_rows{};
  std::array<std::int64_t, cache::most_levels> value_rows{};

  Reads& operator+=(const Reads& other) {
    for (std::size_t p = 0; p < key_rows.size(); ++p) {
      key_rows[p] += other.key_rows[p];
      value_rows[p] += other.value_rows[p];
    }
    return *this;
  }
};

/// The results of the visits of all spans of a problem.
struct Visits {
  Visits(const Problem& problem, Arena& arena);

  int rows;
  std::int64_t value_d32;
  Partial* partial;  ///< spans × rows
  float* out;        ///< spans × rows × value_d32: Σ ê·v̂
  float* spread;     ///< blocks × rows: Σ δ
  Reads* reads;      ///< one per span

  [[nodiscard]] Partial& at(std::int64_t span, int r) const { return partial[span * rows + r]; }
  [[nodiscard]] float* out_of(std::int64_t span, int r) const {
    return out + (span * rows + r) * value_d32;
  }
  [[nodiscard]] float& spread_of(std::int64_t block, int r) const {
    return spread[block * rows + r];
  }
};

/// Floats of scratch memory that visit_span() needs.
std::int64_t visit_scratch(const Problem& problem);
/// Visits one span and fills in its part of `visits`. Different spans may be visited
/// by different threads.
void visit_span(const Problem& problem, const Look& look, const Waterline& line, std::int64_t span,
                float* scratch, const Visits& visits);

}  // namespace tamis::sieve
