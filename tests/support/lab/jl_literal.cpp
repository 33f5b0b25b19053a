#include "support/lab/jl_literal.h"

#include <cblas.h>
#include <lapacke.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "core/fail.h"

namespace tamis {
namespace {

void expect(lapack_int info, const char* routine) {
  if (info != 0) core::fail(Code::internal, "LAPACK's {} failed with {}", routine, info);
}

}  // namespace

JlLiteral::JlLiteral(const lab::realisation::JlTarget& target) : target_(target) {
  const std::int64_t n = target.n;
  const auto size = static_cast<lapack_int>(n);
  std::vector<double> b(static_cast<std::size_t>(n * n));
  for (std::int64_t i = 0; i < n; ++i)
    for (std::int64_t e = target.start[i]; e < target.start[i + 1]; ++e)
      b[i + target.column[e] * n] = target.b[e];
  std::vector<double> vt(b.size());
  std::vector<double> sigma(static_cast<std::size_t>(n));
  d_.resize(b.size());
  v_.resize(b.size());
  expect(LAPACKE_dgesdd(LAPACK_COL_MAJOR, 'A', size, size, b.data(), size, sigma.data(), d_.data(),
                        size, vt.data(), size),
         "dgesdd");
  for (std::int64_t c = 0; c < n; ++c)
    for (std::int64_t r = 0; r < n; ++r) {
      d_[r + c * n] *= sigma[c];
      v_[r + c * n] = vt[c + r * n];
    }
}

double JlLiteral::draw(std::int64_t m, const NormalSource& normals, Space& space) const {
  const std::int64_t n = target_.n;
  const auto rows = static_cast<lapack_int>(n);
  const auto cols = static_cast<lapack_int>(m);
  const auto elements = static_cast<std::size_t>(n * m);
  space.y.resize(elements);
  space.x1.resize(elements);
  space.x2.resize(elements);
  space.tau.resize(static_cast<std::size_t>(m));
  space.work.resize(static_cast<std::size_t>(64 * m));
  space.sign.resize(static_cast<std::size_t>(m));
  space.logits.resize(static_cast<std::size_t>(n * n));
  const auto room = static_cast<lapack_int>(space.work.size());

  normals(space.y);
  expect(LAPACKE_dgeqrf_work(LAPACK_COL_MAJOR, rows, cols, space.y.data(), rows, space.tau.data(),
                             space.work.data(), room),
         "dgeqrf");
  // Q is Haar-distributed once R's diagonal is made positive (Stewart).
  for (std::int64_t c = 0; c < m; ++c) space.sign[c] = space.y[c + c * n] < 0 ? -1 : 1;
  expect(LAPACKE_dorgqr_work(LAPACK_COL_MAJOR, rows, cols, cols, space.y.data(), rows,
                             space.tau.data(), space.work.data(), room),
         "dorgqr");
  for (std::int64_t c = 0; c < m; ++c)
    if (space.sign[c] < 0)
      for (std::int64_t r = 0; r < n; ++r) space.y[r + c * n] = -space.y[r + c * n];

  const double scale = std::sqrt(static_cast<double>(n) / static_cast<double>(m));
  cblas_dgemm(CblasColMajor, CblasNoTrans, CblasNoTrans, rows, cols, rows, scale, d_.data(), rows,
              space.y.data(), rows, 0, space.x1.data(), rows);
  cblas_dgemm(CblasColMajor, CblasNoTrans, CblasNoTrans, rows, cols, rows, scale, v_.data(), rows,
              space.y.data(), rows, 0, space.x2.data(), rows);
  // The transpose in column-major order is the matrix in row-major order.
  cblas_dgemm(CblasColMajor, CblasNoTrans, CblasTrans, rows, rows, cols, 1, space.x2.data(), rows,
              space.x1.data(), rows, 0, space.logits.data(), rows);
  double margin = std::numeric_limits<double>::infinity();
  for (std::int64_t i = 0; i < n; ++i)
    margin = std::min(margin,
                      lab::realisation::row_margin(
                          target_, i, {space.logits.data() + i * n, static_cast<std::size_t>(n)}));
  return margin;
}

BlasThreads::BlasThreads(int threads) : before_(openblas_get_num_threads()) {
  openblas_set_num_threads(threads);
}
BlasThreads::~BlasThreads() { openblas_set_num_threads(before_); }

}  // namespace tamis
