// Proves in floating point that a matrix is positive definite: Cholesky's factorisation must
// succeed after the diagonal was lowered by more than the rounding errors can amount to.
#pragma once

#include <cstddef>
#include <vector>

namespace tamis::lab::verification {

/// True only if the symmetric n × n matrix is positive definite; false if it is not, or only by too
/// little. Takes n³/6 multiply-adds and allocates nothing. Entries must be finite and at most
/// 2^1000 in absolute value.
bool positive_definite(std::vector<double> matrix, std::size_t n);

}  // namespace tamis::lab::verification
