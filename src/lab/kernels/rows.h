// Kernels that compute statistics of one row of attention. A vector holds logits of one query for
// consecutive keys, rather than of several queries. Logits are exponents of 2, as in kernels.h. A
// row of n floats may be read, and a result may be written, up to the next multiple of 32; the
// values beyond n do not matter.
#pragma once

#include <cstdint>

namespace tamis::lab::kernels {

/// The results of one pass over the logits of a row.
struct RowExtent {
  float top;     ///< the largest
  float bottom;  ///< the smallest
  double sum;    ///< Σ s, each term exact in f64
  bool finite;   ///< no logit is NaN or infinite
};

/// Sums over the weights w = 2^t, t = s − top, each term formed in f64.
struct RowSums {
  double weighted;  ///< Σ w·t
  double squares;   ///< Σ (t − centre)²
};

struct RowKernels {
  /// rows[i·stride + j] = s[j·tile + i]: transposes the tile of one page that tile_logits made.
  void (*untile)(const float* s, int keys, float* rows, std::int64_t stride);
  /// Requires n ≥ 1.
  RowExtent (*extent)(const float* s, std::int64_t n);
  /// w[j] = 2^(s[j] − top), and bucket[j] = (top − s[j])·per_unit, rounded to the nearest integer
  /// and at most `last`. A smaller logit never has a smaller bucket.
  RowSums (*weigh)(const float* s, std::int64_t n, float top, double centre, float per_unit,
                   float last, float* w, std::int16_t* bucket);
  /// Σ w, in f64.
  double (*sum)(const float* w, std::int64_t n);
  /// sums[i] = Σ of w[32·i … 32·i + 31] below n, in f64, i < ⌈n/32⌉.
  void (*sums_of_32)(const float* w, std::int64_t n, double* sums);
  /// w[j] = 2^(s[j] − top) in f64 with a relative error below 2^-50, or 2^-1000 if that is larger.
  void (*weigh_f64)(const float* s, std::int64_t n, float top, double* w);
};

}  // namespace tamis::lab::kernels
