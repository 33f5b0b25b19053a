#include "lab/experiments/synthetic_heads.h"

#include <cmath>
#include <span>
#include <utility>

#include "core/fail.h"
#include "lab/numbers/random.h"

namespace tamis::lab::experiments {
namespace {

// Rows of the random stream: tokens, queries and the rows of W have separate ranges.
constexpr std::uint64_t token_rows = 0;
constexpr std::uint64_t query_rows = std::uint64_t{1} << 40;
constexpr std::uint64_t weight_rows = std::uint64_t{2} << 40;

void check(const Synthetic& s) {
  if (s.n < 1 || s.n > (std::int64_t{1} << 24))
    core::fail(Code::usage, "a synthetic head has n = {}; it must be 1 to 2^24", s.n);
  if (s.queries < 1 || s.d < 1 || s.d >= largest_dim || s.value_dim < 1 ||
      s.value_dim > largest_dim)
    core::fail(
        Code::usage,
        "a synthetic head has {} queries, d = {} and d_v = {}; give at least 1, at most {} and {}",
        s.queries, s.d, s.value_dim, largest_dim - 1, largest_dim);
  if (!(s.R >= 0 && s.R <= 1e4)) core::fail(Code::usage, "R is {}; it must be 0 to 10000", s.R);
  for (const auto& [name, dial] : {std::pair("copies", s.copies), std::pair("common", s.common),
                                   std::pair("tails", s.tails), std::pair("sinks", s.sinks)})
    if (!(dial >= 0 && dial <= 1))
      core::fail(Code::usage, "the dial {} is {}; it must be 0 to 1", name, dial);
}

/// Maps a uniform u in (−1, 1) to an entry, which has variance 1/3 whatever `tails` is.
double entry(double u, double tails) {
  if (tails == 0) return u;
  // E u² = 1/3, E h² = 1 and E |u|·h = 2/5 for h = (1 − |u|)^(−1/3) − 1.
  const double h = std::copysign(std::pow(1 - std::abs(u), -1.0 / 3) - 1, u);
  const double t = tails;
  const double variance = (1 - t) * (1 - t) / 3 + 2 * t * (1 - t) * 0.4 + t * t;
  return ((1 - t) * u + t * h) / std::sqrt(3 * variance);
}

/// Writes the d entries of one input.
void input(const numbers::Stream& stream, const Synthetic& s, double* x) {
  const auto uniform = [&](std::uint32_t draw) { return 2 * stream.uniform(draw) - 1; };
  double first = 0;
  for (std::int64_t c = 0; c < s.d; ++c) {
    const auto draw = static_cast<std::uint32_t>(2 * c + 2);
    double u = uniform(draw);
    if (c == 0) first = u;
    if (s.common > 0 && stream.uniform(draw + 1) < s.common) u = first;
    x[c] = entry(u, s.tails);
  }
}

/// Returns W: d × d, Gaussian, scaled to ‖W‖_F = R.
std::vector<double> weights(const Synthetic& s) {
  const auto d = static_cast<std::size_t>(s.d);
  std::vector<double> w(d * d);
  double sum = 0;
  for (std::size_t row = 0; row < d; ++row) {
    const std::span<double> out(w.data() + row * d, d);
    numbers::Stream(s.seed, numbers::Purpose::sweep, weight_rows + row).fill_normal(out);
    for (const double x : out) sum += x * x;
  }
  const double factor = s.R / std::sqrt(sum);
  for (double& x : w) x *= factor;
  return w;
}

}  // namespace

SyntheticHead synthetic_head(const Synthetic& s) {
  check(s);
  const auto d = static_cast<std::size_t>(s.d);
  const std::size_t width = d + 1;
  const auto n = static_cast<std::size_t>(s.n);
  const auto values = static_cast<std::size_t>(s.value_dim);
  const auto queries = static_cast<std::size_t>(s.queries);
  SyntheticHead head;
  head.shape = {.queries = s.queries, .head_dim = s.d + 1, .value_dim = s.value_dim};
  head.q.assign(queries * width, 0);
  head.k.assign(n * width, 0);
  head.v.assign(n * values, 0);

  std::vector<double> x(d);
  for (std::size_t t = 0; t < n; ++t) {
    const numbers::Stream stream(s.seed, numbers::Purpose::sweep, token_rows + t);
    // The random numbers after those of the entries. Values are drawn for each token,
    // also for copies.
    const auto after = static_cast<std::uint32_t>(2 * d + 2);
    const bool copied = t > 0 && stream.uniform(0) < s.copies;
    if (!copied) input(stream, s, x.data());
    for (std::size_t c = 0; c < d; ++c) head.k[t * width + c] = static_cast<float>(x[c]);
    if (t == 0 && s.sinks > 0) continue;  // its value is 0
    for (std::size_t c = 0; c < values; ++c)
      head.v[t * values + c] =
          static_cast<float>(2 * stream.uniform(after + static_cast<std::uint32_t>(c)) - 1);
  }
  head.k[d] = static_cast<float>(s.sinks * 2 * std::log(static_cast<double>(s.n)));

  const std::vector<double> w = weights(s);
  for (std::size_t i = 0; i < queries; ++i) {
    input(numbers::Stream(s.seed, numbers::Purpose::sweep, query_rows + i), s, x.data());
    std::vector<double> q(d, 0);
    for (std::size_t row = 0; row < d; ++row)
      for (std::size_t c = 0; c < d; ++c) q[c] += x[row] * w[row * d + c];
    for (std::size_t c = 0; c < d; ++c) head.q[i * width + c] = static_cast<float>(q[c]);
    head.q[i * width + d] = 1;
  }
  return head;
}

}  // namespace tamis::lab::experiments
