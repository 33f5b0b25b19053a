// Queries or keys in f32, in rows padded with zeros as the kernels of the descent require.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

#include "kernels/kernels.h"

namespace tamis::lab::realisation {

struct Points {
  std::int64_t rows = 0;
  std::int64_t dim = 0;
  std::int64_t stride = 0;
  std::vector<float> x;

  Points() = default;
  Points(std::int64_t rows_, std::int64_t dim_, const tamis::kernels::Kernels& kernels)
      : rows(rows_), dim(dim_) {
    const std::int64_t width = kernels.pad / 2;
    stride = (dim + width - 1) / width * width;
    x.assign(static_cast<std::size_t>(rows * stride), 0.0F);
  }
  [[nodiscard]] float* row(std::int64_t i) { return x.data() + i * stride; }
  [[nodiscard]] const float* row(std::int64_t i) const { return x.data() + i * stride; }

  /// Copies an unpadded matrix, rounding to f32.
  void assign(const std::vector<double>& from) {
    for (std::int64_t i = 0; i < rows; ++i)
      std::transform(from.begin() + i * dim, from.begin() + (i + 1) * dim, row(i),
                     [](double value) { return static_cast<float>(value); });
  }
};

inline float squared_length(const float* x, std::int64_t n) {
  float sum = 0;
  for (std::int64_t c = 0; c < n; ++c) sum += x[c] * x[c];
  return sum;
}

inline void scale_by(float* x, std::int64_t n, float factor) {
  for (std::int64_t c = 0; c < n; ++c) x[c] *= factor;
}

/// Moves x to the nearest point of the unit ball.
inline void into_ball(float* x, std::int64_t n) {
  const float square = squared_length(x, n);
  if (square > 1) scale_by(x, n, 1 / std::sqrt(square));
}

/// Moves x to the nearest point of the unit sphere; zero stays.
inline void onto_sphere(float* x, std::int64_t n) {
  const float square = squared_length(x, n);
  if (square > 0) scale_by(x, n, 1 / std::sqrt(square));
}

}  // namespace tamis::lab::realisation
