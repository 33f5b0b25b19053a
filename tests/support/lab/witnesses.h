// What the tests of src/verify share: witnesses from plain numbers, random cases, and the
// conditions checked pair by pair in exact arithmetic and MPFR.
#pragma once

#include <cstdint>
#include <vector>

#include <tamis/lab/verify.h>
#include "lab/numbers/random.h"

namespace tamis::test {

/// A matrix as it is written in a test.
struct Matrix {
  std::int64_t rows = 0;
  std::int64_t cols = 0;
  std::vector<double> values;

  [[nodiscard]] double operator()(std::int64_t i, std::int64_t j) const {
    return values[static_cast<std::size_t>(i * cols + j)];
  }
};

/// Rounded to the nearest if `dtype` is f32.
lab::Tensor tensor_of(const Matrix& matrix, DType dtype);
Matrix matrix_of(const lab::Tensor& tensor);
lab::Witness witness_of(const Matrix& q, const Matrix& k, DType dtype = DType::f64);

/// The nonzeros of a matrix.
lab::Pattern pattern_of(const Matrix& matrix);

/// Counts its draws, so that a test reads as if numbers came one after another.
class Dice {
 public:
  explicit Dice(std::uint64_t seed) : stream_(seed, lab::numbers::Purpose::test, 0) {}
  /// 0 … n − 1.
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
/// Both forms, all types and conditions; numbers small and whole (so that there are ties),
/// ordinary, or from one end of the exponents to the other.
VerifyCase random_case(std::uint64_t seed);

/// `Checked` by looking at every pair of every row.
lab::Checked naive_check(const VerifyCase& given, lab::Arithmetic arithmetic);

/// How far from the true margin a reported one may be, as verify.h says.
double margin_tolerance(const VerifyCase& given, double margin);

}  // namespace tamis::test
