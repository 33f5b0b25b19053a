// Kernels of the random projections of src/lab/realise: normal random numbers from counters, and
// two products between sets of vectors. A set is `count` vectors of n floats, `stride` floats
// apart. n is a multiple of 64; the padding of a shorter vector must be zero where it is summed.
#pragma once

#include <cstdint>

namespace tamis::lab::kernels {

struct JlKernels {
  /// Standard normal numbers from Philox4x32-10. Block b < blocks is the cipher of the counter
  /// (first + b, plane, row) under the key `seed`; `blocks` is a multiple of 16. Its four words
  /// become the numbers out[b], out[blocks + b], out[2·blocks + b] and out[3·blocks + b], two at a
  /// time by the method of Box and Muller in f32. |x| < 6.8. The words and their places are the
  /// same on every target; the last bits of the numbers are not.
  void (*normals)(std::uint64_t seed, std::uint32_t plane, std::uint64_t row, std::uint32_t first,
                  std::int64_t blocks, float* out);
  /// c(i, j) = x_i · y_j, i < nx, j < ny, in f32.
  void (*dots)(const float* x, std::int64_t nx, const float* y, std::int64_t ny,
               std::int64_t stride, std::int64_t n, float* c, std::int64_t c_stride);
  /// y_r += Σ_{i < count} a(r, i)·x_i, r < rows, in f32.
  void (*mix)(const float* a, std::int64_t a_stride, std::int64_t rows, const float* x,
              std::int64_t x_stride, std::int64_t count, std::int64_t n, float* y,
              std::int64_t y_stride);
  /// As `dots`, with products and sums in f64.
  void (*dots_f64)(const float* x, std::int64_t nx, const float* y, std::int64_t ny,
                   std::int64_t stride, std::int64_t n, double* c, std::int64_t c_stride);
  /// y = Σ_{i < count} a[i]·x_i, in f64.
  void (*mix_f64)(const double* a, const float* x, std::int64_t x_stride, std::int64_t count,
                  std::int64_t n, double* y);
};

}  // namespace tamis::lab::kernels
