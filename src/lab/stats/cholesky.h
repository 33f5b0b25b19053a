// Solves symmetric positive definite systems of a few to a few thousand unknowns, in f32 or f64,
// with plain loops over contiguous rows. Takes n³/6 multiply-adds to factor and n² to solve.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

namespace tamis::lab::stats {

/// The factorisation W = UᵀU. Both U and its transpose are stored, so that both substitutions
/// run along rows.
template <class T>
class Cholesky {
 public:
  /// Factors the n × n symmetric matrix W given by its lower triangle, with row r at w + r·stride.
  /// Returns false if W is not positive definite in this arithmetic.
  bool factor(const T* w, std::int64_t stride, std::int64_t n) {
    n_ = n;
    a_.assign(static_cast<std::size_t>(n * n), 0);
    for (std::int64_t r = 0; r < n; ++r)
      for (std::int64_t c = 0; c <= r; ++c) at(c, r) = w[r * stride + c];
    for (std::int64_t j = 0; j < n; ++j) {
      if (!(at(j, j) > 0)) return false;
      T* row = &at(j, j) - j;
      const T root = std::sqrt(row[j]);
      const T inverse = 1 / root;
      row[j] = root;
      for (std::int64_t c = j + 1; c < n; ++c) row[c] *= inverse;
      for (std::int64_t r = j + 1; r < n; ++r) {
        const T factor = row[r];
        T* to = &at(r, r) - r;
        for (std::int64_t c = r; c < n; ++c) to[c] -= factor * row[c];
      }
    }
    for (std::int64_t r = 1; r < n; ++r)
      for (std::int64_t c = 0; c < r; ++c) at(r, c) = at(c, r);
    return true;
  }

  /// Replaces x by U⁻ᵀ x.
  void solve_lower(T* x) const {
    for (std::int64_t j = 0; j < n_; ++j) eliminate(x, 1, 0, j, j + 1, n_);
  }
  /// Replaces x by W⁻¹ x.
  void solve(T* x) const { solve(x, 1, 0); }
  /// The same for `count` vectors, `stride` apart. Each gets the same bits as it would alone; the
  /// factor is read once for every eight of them.
  void solve(T* x, std::int64_t count, std::int64_t stride) const {
    for (std::int64_t from = 0; from < count; from += 8)
      solve_few(x + from * stride, std::min<std::int64_t>(8, count - from), stride);
  }

 private:
  void solve_few(T* x, std::int64_t count, std::int64_t stride) const {
    for (std::int64_t j = 0; j < n_; ++j) eliminate(x, count, stride, j, j + 1, n_);
    for (std::int64_t j = n_; j-- > 0;) eliminate(x, count, stride, j, 0, j);
  }
  /// Solves for unknown j of every vector and subtracts its contribution from unknowns begin …
  /// end − 1.
  void eliminate(T* x, std::int64_t count, std::int64_t stride, std::int64_t j, std::int64_t begin,
                 std::int64_t end) const {
    const T* row = &a_[static_cast<std::size_t>(j * n_)];
    for (std::int64_t i = 0; i < count; ++i) {
      T* each = x + i * stride;
      each[j] /= row[j];
      const T factor = each[j];
      for (std::int64_t c = begin; c < end; ++c) each[c] -= factor * row[c];
    }
  }
  T& at(std::int64_t r, std::int64_t c) { return a_[static_cast<std::size_t>(r * n_ + c)]; }

  std::int64_t n_ = 0;
  std::vector<T> a_;
};

}  // namespace tamis::lab::stats
