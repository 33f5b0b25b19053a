// One row of attention, from its logits to its figures: what the engine, its reference and the
// tests share.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include <tamis/lab/rows.h>

#include "lab/kernels/rows.h"

namespace tamis::lab::profiling {

/// 1, 2, 3, 4, 6, 8, 12, 16, …: two per octave, up to the last that is not above n.
std::vector<std::int64_t> mass_grid(std::int64_t n);

/// Where the figures of one row go. Spans are as long as the options and the grid say.
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
/// The place of row r.
RowResult result_of(RowFigures& figures, std::int64_t r);
/// Figures of `rows` rows, all zero, with a grid for the longest row.
RowFigures empty_figures(std::int64_t rows, const RowOptions& options, std::int64_t longest);
/// Throws `usage` unless every option is in range.
void check_row_options(const RowOptions& options);

/// Scratch of one worker for rows of up to `keys` keys: about four floats per key.
struct RowScratch {
  float* weights;        // in the order of keys
  float* grouped;        // bucket by bucket, heaviest first
  std::int16_t* bucket;  // of each key
  std::int32_t* start;   // of each bucket in `grouped`; most_buckets + 1 of them
  std::int32_t* cursor;  // two per bucket
  double* before;        // mass before each 32 keys of `grouped`, and in all
  static std::int64_t floats(std::int64_t keys);
  static RowScratch in(float* memory, std::int64_t keys);
};
inline constexpr int most_buckets = 4096;

/// The figures of the row with logits s[0 … n − 1] in units of log 2, n ≥ 1. False, and no figures,
/// if a logit is not finite. s may be read up to the next multiple of 32 floats. About 3 ns per
/// key.
bool measure_row(const kernels::RowKernels& kernels, const float* s, std::int64_t n,
                 const RowOptions& options, std::span<const std::int64_t> grid,
                 const RowScratch& scratch, const RowResult& result);

/// The same in f64 with plain loops: sorted logits, compensated sums. n ≥ 1, all finite; n log n
/// time, 16 bytes per key.
void reference_row(std::span<const float> s, const RowOptions& options,
                   std::span<const std::int64_t> grid, const RowResult& result);
/// k_eps alone, of the same.
std::int64_t reference_k_eps(std::span<const float> s, double eps);

}  // namespace tamis::lab::profiling
