// A projection of R^n, given by vectors that span its range or its kernel, and f64 results for it:
// the slack of the logits (n/m)·B·P, and an orthonormal basis of the range.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "lab/realise/jl/target.h"

namespace tamis::lab::realisation {

struct Projection {
  std::int64_t n = 0;
  std::int64_t m = 0;          ///< its rank
  bool complement = false;     ///< the vectors span the kernel (n − m of them), not the range
  std::int64_t stride = 0;     ///< floats from one vector to the next: n, padded with zeros
  std::vector<float> vectors;  ///< independent, taken as exact
};

/// The least slack of (23), (24) over these rows of (n/m)·B·P, in f64. With v = min(m, n − m)
/// vectors it costs n·v²/2 multiply-adds, and n·v more for every row.
double projection_margin(const JlTarget& target, const Projection& projection,
                         std::span<const std::int64_t> rows, int threads);
/// The same over all rows.
double projection_margin(const JlTarget& target, const Projection& projection, int threads);

/// An orthonormal basis of the range, an n × m matrix stored by rows. About 2·n²·m multiply-adds.
std::vector<double> range_basis(const Projection& projection, int threads);

}  // namespace tamis::lab::realisation
