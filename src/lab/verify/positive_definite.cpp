// If Cholesky's method in floating point runs to its end on A, its factor R satisfies RᵀR = A + E
// with |E| ≤ γ|Rᵀ||R| entry by entry, where γ = (n + 1)u/(1 − (n + 1)u) and u = 2^-53 (Higham,
// Accuracy and Stability of Numerical Algorithms, theorem 10.3). So
//   ‖E‖₂ ≤ γ‖R‖_F² ≤ γ·tr(A)/(1 − γ).
// Then A ≥ −‖E‖₂, and the matrix whose diagonal is higher by 2(n + 4)·u·tr(A) is positive
// definite for n < 2^40. Underflow adds at most n·2^-1074 per entry, which that covers with room to
// spare unless tr(A) is below 2^-900.
#include "lab/verify/positive_definite.h"

#include <cmath>

namespace tamis::lab::verification {

bool positive_definite(std::vector<double> matrix, std::size_t n) {
  double trace = 0;
  for (std::size_t i = 0; i < n; ++i) {
    if (!(matrix[i * n + i] > 0)) return false;
    trace += matrix[i * n + i];
  }
  if (trace < 0x1p-900) return false;
  // Twice what is needed, because the sum of the trace and the differences below are rounded too.
  const double lowered = 4 * static_cast<double>(n + 4) * 0x1p-53 * trace;
  for (std::size_t i = 0; i < n; ++i) matrix[i * n + i] -= lowered;
  // The upper factor is computed row by row. Each row is subtracted from those below at once, so
  // that inner loops run along rows.
  for (std::size_t k = 0; k < n; ++k) {
    double* pivot_row = &matrix[k * n];
    if (!(pivot_row[k] > 0)) return false;
    const double pivot = std::sqrt(pivot_row[k]);
    pivot_row[k] = pivot;
    for (std::size_t j = k + 1; j < n; ++j) pivot_row[j] /= pivot;
    for (std::size_t i = k + 1; i < n; ++i) {
      const double factor = pivot_row[i];
      double* row = &matrix[i * n];
      for (std::size_t j = i; j < n; ++j) row[j] -= factor * pivot_row[j];
    }
  }
  return true;
}

}  // namespace tamis::lab::verification
