// The two bounds on the dimension that the jl construction needs, as the paper's d = 2m.
#include <cmath>

#include <tamis/lab/bounds.h>
#include <tamis/lab/witness.h>

#include "core/fail.h"

namespace tamis::lab {
namespace {

DimensionBound bound(std::int64_t n, double k, double gamma, double eps1, double eps2,
                     double log_pairs) {
  if (n < 1 || k < 1) core::fail(Code::usage, "n = {} and k = {}: both must be at least 1", n, k);
  if (!(gamma >= 1)) core::fail(Code::usage, "gamma is {}; it must be at least 1", gamma);
  check_conditions({.eps1 = eps1, .eps2 = eps2});
  if (n == 1) return {2, false};  // no pair of logits to separate
  const double ratio = std::log(gamma / eps1) / eps2 + 1;
  const double m = std::ceil(16 * k * ratio * ratio * log_pairs);
  constexpr double most = 0x1p60;
  return {2 * static_cast<std::int64_t>(std::min(m, most)), m > static_cast<double>(n)};
}

}  // namespace

DimensionBound paper_bound(std::int64_t n, std::int64_t k, double gamma, double eps1, double eps2) {
  const auto size = static_cast<double>(n);
  const auto most = static_cast<double>(k);
  return bound(n, most * most, gamma, eps1, eps2,
               2 * std::log(size) + std::log(size - 1) + std::log(2.0));
}

DimensionBound sharper_bound(std::int64_t n, std::int64_t k, double gamma, double eps1,
                             double eps2) {
  const auto size = static_cast<double>(n);
  const auto most = static_cast<double>(k);
  return bound(n, most, gamma, eps1, eps2, std::log(4 * most * size * (size - 1)));
}

}  // namespace tamis::lab
