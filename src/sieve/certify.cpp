#include "sieve/certify.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "attention/rounding.h"
#include "core/fail.h"
#include "sieve/error_model.h"

namespace tamis::sieve {
namespace {

/// Returns 2^(the part's reference − the row's reference).
double factor_of(const Partial& part, double reference) {
  return std::exp2(part.reference - reference);
}

/// Writes the sum of the outputs of all parts divided by Σ ê. Returns an upper bound on ‖out‖.
double write_output(const Problem& problem, const RawResult& raw, const float* raw_out,
                    const Visits& visits, double reference, double used, int r, double* sum,
                    float* out) {
  const std::int64_t d32 = problem.layout.value_d32;
  std::fill_n(sum, d32, 0.0);
  const auto add = [&](const Partial& part, const float* values) {
    if (!(part.used > 0)) return;
    const double factor = factor_of(part, reference);
    for (std::int64_t c = 0; c < d32; ++c) sum[c] += factor * static_cast<double>(values[c]);
  };
  add(raw.row[static_cast<std::size_t>(r)], raw_out + r * d32);
  for (std::int64_t span = 0; span < problem.spans(); ++span)
    add(visits.at(span, r), visits.out_of(span, r));
  double norm2 = 0;
  for (std::int64_t c = 0; c < problem.layout.value_dim; ++c) {
    out[c] = static_cast<float>(sum[c] / used);
    norm2 += static_cast<double>(out[c]) * out[c];
  }
  return attention::root_above(norm2);
}

/// Returns for each row the sum over blocks of Σ δ times the distance of the mean of the block's
/// values from the output.
std::array<double, most_rows> distances(const Problem& problem, const Visits& visits,
                                        std::span<const double> reference, const float* out,
                                        float* padded) {
  const cache::Layout& layout = problem.layout;
  std::array<double, most_rows> sums{};
  for (int r = 0; r < problem.rows; ++r) {
    std::fill_n(padded + r * layout.value_d32, layout.value_d32, 0.0F);
    std::copy_n(out + r * layout.value_dim, layout.value_dim, padded + r * layout.value_d32);
  }
  const double relative = 1 + (static_cast<double>(layout.value_d32) + 12) * unit_roundoff;
  std::array<float, most_rows> squares;
  std::array<double, most_rows> factor;
  cache::HeadBlock next = problem.blocks > 0 ? problem.block(0) : cache::HeadBlock{};
  for (std::int64_t b = 0; b < problem.blocks; ++b) {
    const cache::HeadBlock block = next;
    if (b + 1 < problem.blocks) {
      next = problem.block(b + 1);
      __builtin_prefetch(next.record);
      for (std::int64_t c = 0; c < layout.value_d32; c += 32)
        __builtin_prefetch(next.value_centre() + c);
    }
    if (b % span_blocks == 0)
      for (int r = 0; r < problem.rows; ++r) {
        const auto i = static_cast<std::size_t>(r);
        factor[i] = factor_of(visits.at(b / span_blocks, r), reference[i]);
      }
    problem.kernels.sieve.distances(block.value_centre(), block.head().value_unit, layout.value_d32,
                                    padded, problem.rows, squares.data());
    for (int r = 0; r < problem.rows; ++r) {
      const auto i = static_cast<std::size_t>(r);
      const auto spread = static_cast<double>(visits.spread_of(b, r));
      if (spread == 0) continue;  // the distance may be infinite
      // Squares that underflow may take 2^-70 from a distance.
      sums[i] +=
          spread * factor[i] * (std::sqrt(static_cast<double>(squares[i])) * relative + 0x1p-69);
    }
  }
  return sums;
}

/// Upper bounds over all values that a problem may use.
struct ValueNorms {
  double norm = 0;    ///< bounds ‖v‖
  double radius = 0;  ///< bounds ‖v − mean of the block‖
};

ValueNorms value_norms(const Problem& problem, const RawResult& raw) {
  ValueNorms most{raw.value_norm, 0};
  for (std::int64_t b = 0; b < problem.blocks; ++b) {
    const cache::BlockHead& head = problem.block(b).head();
    most.norm = std::max(most.norm, static_cast<double>(head.value_norm));
    most.radius = std::max(most.radius, static_cast<double>(head.value_radius));
  }
  return most;
}

}  // namespace

Total total_of(const Problem& problem, const RawResult& raw, const Visits& visits, double reference,
               int r) {
  Total total;
  const auto add = [&](const Partial& part) {
    if (!(part.used + part.dropped > 0)) return;
    const double factor = factor_of(part, reference);
    total.used += factor * part.used;
    total.spread += factor * part.spread;
    total.product += factor * part.product;
    total.dropped += factor * part.dropped;
    total.vanished += factor * part.vanished;
  };
  add(raw.row[static_cast<std::size_t>(r)]);
  for (std::int64_t span = 0; span < problem.spans(); ++span) add(visits.at(span, r));
  return total;
}

/// Bounds on the sums of a row, with the rounding of the sums included.
struct Bounds {
  double used;     ///< lower bound on Σ ê
  double delta;    ///< upper bound on Σ δ of the keys that are used
  double dropped;  ///< upper bound on the sum of the weights of the keys that are left out
  double lowest;   ///< lower bound on the exact sum of the weights of the keys that are used
};

Bounds bounds_of(const Total& total, double rounding) {
  Bounds b{};
  b.used = total.used * (1 - rounding);
  b.delta = total.spread * (1 + rounding) + total.vanished;
  b.dropped = total.dropped * (1 + rounding);
  b.lowest = b.used - b.delta;
  return b;
}

double tau_of(const Problem& problem, const RawResult& raw, const Total& total) {
  const Bounds b = bounds_of(total, gamma(sum_chain(problem.spans(), raw.keys)));
  if (!(b.used > 0)) return 1;
  const double left_out =
      b.dropped > 0 ? (b.lowest > 0 ? b.dropped / (b.lowest + b.dropped) : 1) : 0;
  return std::min(1.0, left_out + b.delta / b.used + 4 * unit_roundoff);
}

std::int64_t certify_scratch(const Problem& problem) {
  return problem.rows * problem.layout.value_d32 + 2 * problem.layout.value_d32;
}

Outcome certify(const Problem& problem, const RawResult& raw, const float* raw_out,
                const Visits& visits, std::span<const double> reference, float* scratch,
                float* out) {
  const double infinity = std::numeric_limits<double>::infinity();
  const cache::Layout& layout = problem.layout;
  Outcome outcome{out, {}, {}, true};
  std::array<Total, most_rows> totals;
  std::array<double, most_rows> norm{};
  auto* sum = reinterpret_cast<double*>(scratch);
  float* padded = scratch + 2 * layout.value_d32;
  for (int r = 0; r < problem.rows; ++r) {
    const auto i = static_cast<std::size_t>(r);
    float* row = out + r * layout.value_dim;
    std::fill_n(row, layout.value_dim, 0.0F);
    if (problem.row[i].seen == 0) continue;
    totals[i] = total_of(problem, raw, visits, reference[i], r);
    norm[i] =
        write_output(problem, raw, raw_out, visits, reference[i], totals[i].used, r, sum, row);
  }
  const auto distance = distances(problem, visits, reference, out, padded);
  const ValueNorms values = value_norms(problem, raw);
  const double root_d = std::sqrt(static_cast<double>(layout.value_dim));
  const double chain = sum_chain(problem.spans(), raw.keys);
  const double rounding = gamma(chain + raw.roundings);
  // Nibbles of a block are added in chains of up to 128 for each of four planes.
  const double nibbles = gamma(chain + 4 * static_cast<double>(page_tokens));
  for (int r = 0; r < problem.rows; ++r) {
    const auto i = static_cast<std::size_t>(r);
    if (problem.row[i].seen == 0) {
      outcome.lse[i] = -std::numeric_limits<float>::infinity();
      continue;
    }
    const Total& total = totals[i];
    Certificate& c = outcome.certificate[i];
    c.tau = tau_of(problem, raw, total);
    const auto [used, delta, dropped, lowest] = bounds_of(total, rounding);
    const Partial& exact = raw.row[i];
    const double numerator =
        total.product + distance[i] +
        (exact.used > 0 ? exact.spread * factor_of(exact, reference[i]) * norm[i] : 0) +
        total.vanished * (values.norm + norm[i]);
    const double sums = 2 * rounding * (values.norm + values.radius) +
                        8 * nibbles * root_d * (values.radius + 0x1p-20 * values.norm) +
                        static_cast<double>(problem.seen) * root_d * 0x1p-144 / used + 0x1p-140;
    // Exact attention is an average of values, so its norm is at most the largest of theirs.
    c.error = values.norm + norm[i];
    if (lowest > 0)
      c.error = std::min(c.error, numerator * (1 + rounding) / lowest +
                                      sums * (total.used * (1 + rounding) / lowest));
    const double logarithm = reference[i] * 0.6931471805599453 + std::log(total.used);
    outcome.lse[i] = static_cast<float>(logarithm);
    c.lse_error = lowest > 0
                      ? std::max(-std::log(lowest / used), std::log1p((delta + dropped) / used))
                      : infinity;
    c.lse_error += 2 * rounding + unit_roundoff * (1.01 * std::abs(logarithm) + 1);
    if (!std::isfinite(c.error) || !(total.used > 0x1p-100)) outcome.finite = false;
  }
  return outcome;
}

Reached reached_by(const Budget& budget, const Certificate& c) {
  switch (budget.kind) {
    case Budget::Kind::mass:
      return c.tau <= budget.eps ? Reached::met : Reached::stored_bits;
    case Budget::Kind::bytes:
      return static_cast<double>(c.bytes) <= budget.share * static_cast<double>(c.dense_bytes)
                 ? Reached::met
                 : Reached::look_alone;
    case Budget::Kind::topk:
    case Budget::Kind::power:
    case Budget::Kind::window:
      return Reached::met;
  }
  core::fail(Code::internal, "a budget has an unknown kind");
}

}  // namespace tamis::sieve
