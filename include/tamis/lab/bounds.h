// Dimensions at which the paper's random construction is proven to succeed. d is the paper's: it is
// even, and d = 2m for queries and keys of m columns. n is the number of rows of the pattern.
#pragma once

#include <cstdint>
#include <optional>

#include <tamis/export.h>
#include <tamis/lab/pattern.h>
#include <tamis/lab/witness.h>

namespace tamis::lab {

/// A dimension that is proven to be enough. The bound is vacuous where it exceeds d = 2n, beyond
/// which the construction does not exist. γ may be infinite, as it is for a pattern whose ratios
/// are beyond f64; the bound is then vacuous.
struct DimensionBound {
  std::int64_t d = 0;  ///< the paper's d = 2m
  bool vacuous = false;
};
/// Bound (6), for n ≥ 2:
///   d = 2⌈16k²(log(γ/ε₁)/ε₂ + 1)²(2·log n + log(n − 1) + log 2)⌉
/// Here k is the most nonzeros of a row or column and γ the largest ratio of two nonzeros of a row.
/// At this d a draw is accepted with probability above 1/(n + 2).
TAMIS_API DimensionBound paper_bound(std::int64_t n, std::int64_t k, double gamma, double eps1,
                                     double eps2);
/// The same bound with k in place of k²:
///   d = 2⌈16k(log(γ/ε₁)/ε₂ + 1)²·log(4kn(n − 1))⌉
/// Here k is the most nonzeros of a row, columns not counted, and only the pairs of keys that touch
/// the nonzeros of a row are considered. At this d a draw is accepted with probability at least
/// 1/2.
TAMIS_API DimensionBound sharper_bound(std::int64_t n, std::int64_t k, double gamma, double eps1,
                                       double eps2);

/// The same bounds for the n, k and γ of a pattern. Nothing where the construction does not apply:
/// for weak conditions and for patterns that are not square.
TAMIS_API std::optional<DimensionBound> paper_bound(const Pattern& pattern,
                                                    const Conditions& conditions);
TAMIS_API std::optional<DimensionBound> sharper_bound(const Pattern& pattern,
                                                      const Conditions& conditions);

}  // namespace tamis::lab
