// Positive definiteness, proved in floating point: Cholesky's factors of a matrix whose diagonal
// was lowered by more than rounding can be off.
#pragma once

#include <cstddef>
#include <vector>

namespace tamis::lab::verification {

/// True only if the symmetric n × n matrix is positive definite; false if it is not, or by too
/// little. n³/3 multiply-adds; nothing is allocated. Entries are finite, at most 2^1000 in size.
bool positive_definite(std::vector<double> matrix, std::size_t n);

}  // namespace tamis::lab::verification
