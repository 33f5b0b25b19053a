#include "support/cache/cache_oracle.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include <tamis/kv.h>

namespace tamis::test {
namespace {

std::int64_t padded(std::int64_t channels) { return (channels + 31) / 32 * 32; }

/// Header, centres and steps, and plane 0 of all keys of one KV head.
std::int64_t bytes_of_record(const Heads& heads) {
  const std::int64_t centres_and_steps = 2 * 2 * (padded(heads.key_dim) + padded(heads.value_dim));
  return (80 + centres_and_steps + 63) / 64 * 64 + 128 * padded(heads.key_dim) / 2;
}

}  // namespace

Oracle exact_attention(const Appended& appended, float scale, View<const float> queries,
                       std::span<const std::int64_t> seen) {
  const Shape shape{1, 1, queries.rows, appended.key_dim, appended.value_dim, DType::f32, scale};
  const PageTables tables(DType::f32, appended.keys.data(), appended.values.data(), 1,
                          appended.tokens(), appended.key_dim, appended.value_dim);
  return {shape, queries, tables.heads(), seen};
}

std::string false_claim(const ExactRow& exact, std::span<const float> out, float lse,
                        const tamis::Certificate& certificate) {
  if (exact.weights.empty()) {
    const bool nothing = std::ranges::all_of(out, [](float x) { return x == 0.0F; }) &&
                         lse == -std::numeric_limits<float>::infinity() && certificate.tau == 0 &&
                         certificate.error == 0 && certificate.lse_error == 0;
    return nothing ? "" : "a row that sees no key has an output, a log-sum-exp or an uncertainty";
  }
  if (!(certificate.tau >= 0 && certificate.tau <= 1))
    return fmt::format("tau is {}, which is not in 0 … 1", certificate.tau);
  const double far = distance(out, exact);
  if (!(far <= certificate.error + exact.error_slack))
    return fmt::format("the output is {} from the exact one, error says {}", far,
                       certificate.error);
  const auto lse_far = static_cast<double>(std::abs(static_cast<long double>(lse) - exact.lse));
  if (!(lse_far <= certificate.lse_error + exact.lse_slack))
    return fmt::format("the log-sum-exp is {} from the exact one, lse_error says {}", lse_far,
                       certificate.lse_error);
  return "";
}

std::string false_tau(const ExactRow& exact, std::span<const float> weights, double tau) {
  const double far = total_variation(weights, exact);
  if (far <= tau + exact.tau_slack) return "";
  return fmt::format("the weights are {} from the exact ones, tau says {}", far, tau);
}

std::int64_t bytes_of(const Reads& reads, const Heads& heads, std::int64_t element) {
  std::int64_t bytes =
      reads.blocks * bytes_of_record(heads) +
      (reads.raw_keys * heads.key_dim + reads.raw_values * heads.value_dim) * element;
  for (std::size_t level = 0; level < 4; ++level) {
    const auto planes = static_cast<std::int64_t>(level);
    bytes += reads.keys[level] * planes * padded(heads.key_dim) /
             2;  // plane 0 is counted with the block
    bytes += reads.values[level] * (planes + 1) * padded(heads.value_dim) / 2;
  }
  return bytes;
}

std::int64_t bytes_of_block(int levels, const Heads& heads) {
  Reads all;
  all.blocks = 1;
  all.keys[static_cast<std::size_t>(levels - 1)] = 128;
  all.values[static_cast<std::size_t>(levels - 1)] = 128;
  return bytes_of(all, heads, 0);
}

}  // namespace tamis::test
