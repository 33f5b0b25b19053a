// The figures of one row of attention from its logits. Used by the fast path, its
// reference and the tests.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include <tamis/lab/rows.h>

#include "lab/kernels/rows.h"

namespace tamis::lab::profiling {

/// Returns 1, 2, 3, 4, 6, 8, 12, 16, …, two numbers per octave, up to the last that is at most n.
std::vector<std::int64_t> mass_grid(std::int64_t n);

/// References to the figures of one row in RowFigures. The spans are as long as the options and
/// the grid require.
struct RowResult {
  std::int64_t& n;
  std::span<std::int64_t> k_eps;
  std::span<std::int64_t> w_eps;
  std::span<double> curve;
  double& top1;
  double& entropy;
  double& sink;
  std::span<double> window;
  double& mean;
  double& sigma;
};
/// The references for row r.
RowResult result_of(RowFigures& figures, std::int64_t r);
/// Returns the figures of `rows` rows, all zero, with a grid that suits the longest row.
RowFigures empty_figures(std::int64_t rows, const RowOptions& options, std::int64_t longest);
/// Throws `usage` unless every option is in range.
void check_row_options(const RowOptions& options);

/// Scratch memory of one worker for rows of up to `keys` keys: about four floats per key.
struct RowScratch {
  float* weights;        // in key order
  float* grouped;        // grouped by bucket, heaviest bucket first
  std::int16_t* bucket;  // bucket of each key
  std::int32_t* start;   // start of each bucket in `grouped`; most_buckets + 1 entries
  std::int32_t* cursor;  // two cursors per bucket
  double* before;        // mass before each block of 32 keys of `grouped`, then the total
  static std::int64_t floats(std::int64_t keys);
  static RowScratch in(float* memory, std::int64_t keys);
};
inline constexpr int most_buckets = 4096;

/// Computes the figures of the row with logits s[0 … n − 1], in units of log 2, n ≥ 1. Returns
/// false, with no valid figures, if a logit is not finite. Memory at s may be read up to the next
/// multiple of 32 floats. Takes about 3 ns per key.
bool measure_row(const kernels::RowKernels& kernels, const float* s, std::int64_t n,
                 const RowOptions& options, std::span<const std::int64_t> grid,
                 const RowScratch& scratch, const RowResult& result);

/// The reference: computes the same figures in f64 with plain loops, sorted logits and compensated
/// sums. Requires n ≥ 1 and finite logits. Takes n log n time and 16 bytes per key.
void reference_row(std::span<const float> s, const RowOptions& options,
                   std::span<const std::int64_t> grid, const RowResult& result);
/// The k_eps of the reference alone.
std::int64_t reference_k_eps(std::span<const float> s, double eps);

}  // namespace tamis::lab::profiling
