// The curve of method moment: n points on a circle with a key at each, and for any set S of points
// a function that is zero on S and positive at all other points. The function is a linear
// combination of a key's coordinates and a constant:
//   points 2πp/n,   keys (cos t, …, cos kt, sin t, …, sin kt),   function ∏(1 − cos(t − t_s))
// A point is given by its position p, 0 … n − 1. Memory: 40 bytes per point.
#pragma once

#include <complex>
#include <cstdint>
#include <cstdlib>
#include <span>
#include <vector>

namespace tamis::lab::realisation {

class Curve {
 public:
  /// k ≥ 1 is the largest size of a set S.
  Curve(std::int64_t n, std::int64_t k);

  [[nodiscard]] std::int64_t dim() const { return 2 * k_; }
  [[nodiscard]] std::int64_t points() const { return n_; }
  /// An upper bound on the norm of every key.
  [[nodiscard]] double key_norm() const;
  void key(std::int64_t position, std::span<double> out) const;

  /// One factor of the product, 1 − cos(t − s), for two positions.
  [[nodiscard]] double gap(std::int64_t a, std::int64_t b) const {
    return gap_[static_cast<std::size_t>(std::abs(a - b))];
  }
  /// Adds weight times the coefficients of the product over `set`, without its constant term, to
  /// `coefficients`. O(|set|²) operations in long double, whose rounding is far below that of the
  /// doubles in which they end up.
  void add_product(std::span<const std::int64_t> set, long double weight,
                   std::span<long double> coefficients) const;

 private:
  using Complex = std::complex<long double>;

  std::int64_t n_;
  std::int64_t k_;
  std::vector<double> gap_;    ///< by the distance of two positions
  std::vector<Complex> root_;  ///< e^it
};

}  // namespace tamis::lab::realisation
