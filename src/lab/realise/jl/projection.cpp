#include "lab/realise/jl/projection.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "core/fail.h"
#include "core/parallel.h"
#include "lab/kernels/kernels.h"
#include "lab/stats/cholesky.h"

namespace tamis::lab::realisation {
namespace {

/// The Cholesky factor of the Gram matrix of the vectors.
stats::Cholesky<double> factor_of(const Projection& p, std::int64_t count, int threads) {
  std::vector<double> gram(static_cast<std::size_t>(count * count));
  const kernels::JlKernels& kernels = kernels::lab_kernels().jl;
  core::parallel_for(count, threads, [&](std::int64_t i, int) {
    kernels.dots_f64(p.vectors.data() + i * p.stride, 1, p.vectors.data(), i + 1, p.stride,
                     p.stride, gram.data() + i * count, count);
  });
  stats::Cholesky<double> factor;
  if (!factor.factor(gram.data(), count, count))
    core::fail(Code::internal,
               "the vectors of a projection are dependent, which has probability zero");
  return factor;
}

std::int64_t count_of(const Projection& p) { return p.complement ? p.n - p.m : p.m; }

}  // namespace

double projection_margin(const JlTarget& target, const Projection& p,
                         std::span<const std::int64_t> rows, int threads) {
  const std::int64_t count = count_of(p);
  const stats::Cholesky<double> factor = factor_of(p, count, threads);
  const double scale = static_cast<double>(p.n) / static_cast<double>(p.m);
  const kernels::JlKernels& kernels = kernels::lab_kernels().jl;
  constexpr std::int64_t chunk = 32;
  const std::int64_t chunks = (std::ssize(rows) + chunk - 1) / chunk;
  std::vector<double> worst(static_cast<std::size_t>(chunks),
                            std::numeric_limits<double>::infinity());
  core::parallel_for(chunks, threads, [&](std::int64_t item, int) {
    const auto some =
        rows.subspan(static_cast<std::size_t>(item * chunk),
                     static_cast<std::size_t>(std::min(chunk, std::ssize(rows) - item * chunk)));
    std::vector<double> a(some.size() * static_cast<std::size_t>(count));
    std::vector<double> logits(static_cast<std::size_t>(p.stride));
    // Vectors are far apart in memory, so they are used one after the other.
    for (std::int64_t c = 0; c < count; ++c) {
      const float* from = p.vectors.data() + c * p.stride;
      for (std::int64_t r = 0; r < std::ssize(some); ++r)
        for (std::int64_t e = target.start[some[r]]; e < target.start[some[r] + 1]; ++e)
          a[r * count + c] += target.b[e] * static_cast<double>(from[target.column[e]]);
    }
    factor.solve(a.data(), std::ssize(some), count);
    for (double& x : a) x *= p.complement ? -scale : scale;
    for (std::int64_t r = 0; r < std::ssize(some); ++r) {
      const std::int64_t row = some[r];
      kernels.mix_f64(a.data() + r * count, p.vectors.data(), p.stride, count, p.stride,
                      logits.data());
      if (p.complement)
        for (std::int64_t e = target.start[row]; e < target.start[row + 1]; ++e)
          logits[target.column[e]] += scale * target.b[e];
      worst[item] = std::min(
          worst[item], row_margin(target, row, {logits.data(), static_cast<std::size_t>(p.n)}));
    }
  });
  return worst.empty() ? std::numeric_limits<double>::infinity()
                       : *std::min_element(worst.begin(), worst.end());
}

double projection_margin(const JlTarget& target, const Projection& p, int threads) {
  std::vector<std::int64_t> rows(static_cast<std::size_t>(p.n));
  std::iota(rows.begin(), rows.end(), 0);
  return projection_margin(target, p, rows, threads);
}

std::vector<double> range_basis(const Projection& p, int threads) {
  const std::int64_t n = p.n;
  const std::int64_t count = count_of(p);
  const stats::Cholesky<double> factor = factor_of(p, count, threads);
  // Row j of the vectors' orthonormal basis is U⁻ᵀ times column j of the vectors.
  std::vector<double> basis(static_cast<std::size_t>(n * count));
  core::parallel_for(n, threads, [&](std::int64_t j, int) {
    double* row = basis.data() + j * count;
    for (std::int64_t c = 0; c < count; ++c)
      row[c] = static_cast<double>(p.vectors[c * p.stride + j]);
    factor.solve_lower(row);
  });
  if (!p.complement) return basis;

  // The Householder reflections that turn the basis of the kernel into the first axes turn the
  // other axes into a basis of the range. Reflections are kept as unit vectors v: x ← x −
  // 2·v·(v·x).
  std::vector<std::vector<double>> reflections;
  std::vector<std::vector<double>> columns(static_cast<std::size_t>(count));
  for (std::int64_t c = 0; c < count; ++c) {
    columns[c].resize(static_cast<std::size_t>(n));
    for (std::int64_t j = 0; j < n; ++j) columns[c][j] = basis[j * count + c];
  }
  const auto reflect = [n](const std::vector<double>& v, std::int64_t first, double* x) {
    double dot = 0;
    for (std::int64_t j = first; j < n; ++j) dot += v[j] * x[j];
    dot *= 2;
    for (std::int64_t j = first; j < n; ++j) x[j] -= dot * v[j];
  };
  for (std::int64_t c = 0; c < count; ++c) {
    std::vector<double> v(static_cast<std::size_t>(n));
    double square = 0;
    for (std::int64_t j = c; j < n; ++j) square += columns[c][j] * columns[c][j];
    std::copy(columns[c].begin() + c, columns[c].end(), v.begin() + c);
    v[c] += std::copysign(std::sqrt(square), columns[c][c]);
    double norm = 0;
    for (std::int64_t j = c; j < n; ++j) norm += v[j] * v[j];
    norm = 1 / std::sqrt(norm);
    for (std::int64_t j = c; j < n; ++j) v[j] *= norm;
    core::parallel_for(count - c - 1, threads,
                       [&](std::int64_t i, int) { reflect(v, c, columns[c + 1 + i].data()); });
    reflections.push_back(std::move(v));
  }
  std::vector<double> range(static_cast<std::size_t>(n * p.m));
  core::parallel_for(p.m, threads, [&](std::int64_t c, int) {
    std::vector<double> x(static_cast<std::size_t>(n));
    x[count + c] = 1;
    for (std::int64_t i = count; i-- > 0;) reflect(reflections[i], i, x.data());
    for (std::int64_t j = 0; j < n; ++j) range[j * p.m + c] = x[j];
  });
  return range;
}

}  // namespace tamis::lab::realisation
