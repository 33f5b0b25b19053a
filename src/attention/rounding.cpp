// Upper bounds on the distance of f32 attention from exact attention. docs/rounding.md derives
// every constant.
#include "attention/rounding.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include <tamis/attention.h>

#include "attention/check.h"
#include "core/fail.h"
#include "kernels/kernels.h"

namespace tamis {
namespace {

constexpr double u = attention::unit_roundoff;

constexpr double infinity = std::numeric_limits<double>::infinity();

/// Upper bounds on the norms of rows of K or V: entry t holds for rows 0 … t.
template <class Element>
std::vector<double> largest_norms(const void* const* pages, std::int64_t stride,
                                  std::int64_t tokens, std::int64_t dim) {
  std::vector<double> largest(static_cast<std::size_t>(tokens));
  double so_far = 0;
  for (std::int64_t t = 0; t < tokens; ++t) {
    const auto* row =
        static_cast<const Element*>(pages[t / page_tokens]) + t % page_tokens * stride;
    double squares = 0;
    for (std::int64_t c = 0; c < dim; ++c) {
      const double x = to_float(row[c]);
      squares += x * x;
    }
    largest[static_cast<std::size_t>(t)] = so_far =
        std::max(so_far, attention::root_above(squares));
  }
  return largest;
}

std::vector<double> largest_norms(DType dtype, const void* const* pages, std::int64_t stride,
                                  std::int64_t tokens, std::int64_t dim) {
  switch (dtype) {
    case DType::f16:
      return largest_norms<f16>(pages, stride, tokens, dim);
    case DType::bf16:
      return largest_norms<bf16>(pages, stride, tokens, dim);
    default:
      return largest_norms<float>(pages, stride, tokens, dim);
  }
}

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
  const double logit = attention::gamma(d + 3) * largest_logit +
                       0x1p-149 * (d + std::sqrt(d) * key_norm + query_norm * key_norm);
  // Weights: the difference to the maximum, exp2, and the factors of later pages and merges.
  const double factors = std::ceil(n / page_tokens) + 2;
  const double exponent =
      logit + 88 * u + (factors + 1) * -std::log1p(-kernels::exp2_relative_error);
  const double weight = std::expm1(exponent);
  // Weights below 2^-126 of the largest may vanish.
  const double vanished = n * 0x1p-125;
  // Sums over keys, page by page, then the division.
  const double sum = attention::gamma(page_tokens + 2 * factors + 2);
  const double division = sum < 1 ? (1 + u) / (1 - sum) - 1 : infinity;

  Rounding bound;
  bound.tau = std::min(1.0, weight + vanished * (1 + weight));
  bound.error = value_norm * (2 * bound.tau + division + (1 + division) * sum) +
                0x1p-148 * n * std::sqrt(static_cast<double>(shape.value_dim));
  bound.lse = exponent + std::log1p(vanished) + (sum < 1 ? sum / (1 - sum) : infinity) +
              1.01 * u * (largest_logit + logit + std::log(n));
  // The f64 operations above err by less than one part in 10^12.
  constexpr double safety = 1 + 1e-12;
  return {std::min(1.0, bound.tau * safety), bound.error * safety, bound.lse * safety};
}

void dense_rounding(const Shape& shape, View<const float> q, std::span<const KvPages> kv,
                    std::span<const std::int64_t> seen, std::span<Rounding> roundings) {
  attention::check_arguments(shape, q, kv, seen);
  if (std::ssize(roundings) != shape.rows())
    core::fail(Code::usage, "there is room for {} roundings; it must be {}, one per row",
               roundings.size(), shape.rows());
  for (std::int64_t h = 0; h < shape.kv_heads; ++h) {
    const KvPages& head = kv[static_cast<std::size_t>(h)];
    const auto key_norm =
        largest_norms(shape.dtype, head.k, head.k_stride, head.tokens, shape.head_dim);
    const auto value_norm =
        largest_norms(shape.dtype, head.v, head.v_stride, head.tokens, shape.value_dim);
    const std::int64_t first = h * shape.group() * shape.queries;
    for (std::int64_t r = first; r < first + shape.group() * shape.queries; ++r) {
      const std::int64_t keys = attention::keys_seen(seen, r % shape.queries, head);
      const auto last = static_cast<std::size_t>(keys - 1);
      roundings[static_cast<std::size_t>(r)] =
          keys == 0 ? Rounding{}
                    : attention_rounding(shape, keys, attention::norm_above(q.row(r)),
                                         key_norm[last], value_norm[last]);
    }
  }
}

}  // namespace tamis
