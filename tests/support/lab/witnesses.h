// Shared by the tests of verification: witnesses from plain numbers, random cases, and a check of
// the conditions pair by pair in exact arithmetic and MPFR.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <tamis/lab/verify.h>
#include "lab/numbers/random.h"

namespace tamis::test {

/// A dense matrix, row-major.
struct Matrix {
  std::int64_t rows = 0;
  std::int64_t cols = 0;
  std::vector<double> values;

  [[nodiscard]] double operator()(std::int64_t i, std::int64_t j) const {
    return values[static_cast<std::size_t>(i * cols + j)];
  }
};

/// A tensor with these numbers, rounded to the nearest if `dtype` is f32.
lab::Tensor tensor_of(const Matrix& matrix, DType dtype);
Matrix matrix_of(const lab::Tensor& tensor);
lab::Witness witness_of(const Matrix& q, const Matrix& k, DType dtype = DType::f64);

/// A clause that says in which arithmetic a witness does not hold and by how much it misses, such
/// as "f32 cannot hold the margin (3 rows fail, row 17 by 0.21)". Empty if it holds in all.
std::string arithmetic_shortfall(const lab::Verification& verification);

/// The pattern with the nonzeros of a matrix.
lab::Pattern pattern_of(const Matrix& matrix);

/// A random stream that counts its draws, so that a test can take one number after another.
class Dice {
 public:
  explicit Dice(std::uint64_t seed) : stream_(seed, lab::numbers::Purpose::test, 0) {}
  /// Uniform in 0 … n − 1.
  std::int64_t below(std::int64_t n) {
    return static_cast<std::int64_t>(stream_.below(static_cast<std::uint64_t>(n), draw_++));
  }
  double normal() {
    draw_ += 2;
    return stream_.normal(draw_);
  }
  bool coin() { return below(2) == 1; }

 private:
  lab::numbers::Stream stream_;
  std::uint32_t draw_ = 0;
};

struct VerifyCase {
  lab::Pattern pattern;
  lab::Witness witness;
  lab::Conditions conditions;
};
/// A random case in any form, type and condition. Its numbers are small integers (so that there
/// are ties), ordinary numbers, numbers that cancel, or numbers over the whole range of exponents.
VerifyCase random_case(std::uint64_t seed);

/// Computes `Checked` by looking at every pair of every row.
lab::Checked naive_check(const VerifyCase& given, lab::Arithmetic arithmetic);

/// The largest error of a reported margin that verify.h allows.
double margin_tolerance(const VerifyCase& given, double margin);

}  // namespace tamis::test
