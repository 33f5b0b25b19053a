// How far f32 attention can be from exact attention. Every constant is derived in docs/rounding.md.
#include <algorithm>
#include <cmath>
#include <limits>

#include <tamis/attention.h>

#include "attention/check.h"
#include "core/fail.h"
#include "kernels/kernels.h"

namespace tamis {
namespace {

constexpr double u = 0x1p-24;  // unit roundoff of f32

constexpr double infinity = std::numeric_limits<double>::infinity();

/// (1 + u)^k − 1 at most, for k roundings in a row; nothing is known from k = 2²⁴ on.
double gamma(double k) { return k * u < 1 ? k * u / (1 - k * u) : infinity; }

}  // namespace

Rounding attention_rounding(const Shape& shape, std::int64_t keys, double query_norm,
                            double key_norm, double value_norm) {
  attention::check_head_sizes(shape);
  if (keys < 0 || !(query_norm >= 0) || !(key_norm >= 0) || !(value_norm >= 0))
    core::fail(Code::usage, "the number of keys and the norms must not be negative");
  if (keys == 0) return {};

  const auto n = static_cast<double>(keys);
  const auto d = static_cast<double>(shape.head_dim);
  const double largest_logit = std::abs(static_cast<double>(shape.scale)) * query_norm * key_norm;

  // Logits: d + 3 roundings per term, and gradual underflow of the factor and of products.
  const double logit = gamma(d + 3) * largest_logit +
                       0x1p-149 * (d + std::sqrt(d) * key_norm + query_norm * key_norm);
  // Weights: the difference to the maximum, exp2, and the factors of later pages and merges.
  const double factors = std::ceil(n / page_tokens) + 2;
  const double exponent =
      logit + 88 * u + (factors + 1) * -std::log1p(-kernels::exp2_relative_error);
  const double weight = std::expm1(exponent);
  // Weights below 2^-126 of the largest may vanish.
  const double vanished = n * 0x1p-125;
  // Sums over keys, page by page, then the division.
  const double sum = gamma(page_tokens + 2 * factors + 2);
  const double division = sum < 1 ? (1 + u) / (1 - sum) - 1 : infinity;

  Rounding bound;
  bound.tau = std::min(1.0, weight + vanished * (1 + weight));
  bound.error = value_norm * (2 * bound.tau + division + (1 + division) * sum) +
                0x1p-148 * n * std::sqrt(static_cast<double>(shape.value_dim));
  bound.lse = exponent + std::log1p(vanished) + (sum < 1 ? sum / (1 - sum) : infinity) +
              1.01 * u * (largest_logit + logit + std::log(n));
  // These few operations in f64 err by less than one part in 10^12 themselves.
  constexpr double safety = 1 + 1e-12;
  return {std::min(1.0, bound.tau * safety), bound.error * safety, bound.lse * safety};
}

}  // namespace tamis
