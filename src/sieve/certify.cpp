// From sums to the output and its certificate. Every constant is derived in docs/certificates.md.
#include <algorithm>
#include <cmath>
#include <limits>

#include "sieve/step.h"

namespace tamis {
namespace {

constexpr float infinity = std::numeric_limits<float>::infinity();

/// The bytes and keys that the step read, the same for every row.
Certificate reads_of(const Step& step) {
  const Layout& layout = *step.layout;
  const Shape& shape = step.call->shape;
  SpanReads sum{};
  for (std::int64_t span = 0; span <= step.spans; ++span) {
    sum.middle_keys += step.reads[span].middle_keys;
    sum.exact_keys += step.reads[span].exact_keys;
    sum.middle_values += step.reads[span].middle_values;
    sum.exact_values += step.reads[span].exact_values;
    sum.scaled_blocks += step.reads[span].scaled_blocks;
  }
  Certificate c;
  c.exact_keys = sum.exact_keys;
  // Exact keys were refined first, but for those of a window.
  c.middle_keys = std::max<std::int64_t>(0, sum.middle_keys - (sum.exact_keys - step.pinned));
  c.coarse_keys = step.keys - c.exact_keys - c.middle_keys;
  c.middle_values = sum.middle_values;
  c.exact_values = sum.exact_values;
  c.coarse_bytes = step.blocks * static_cast<std::int64_t>(layout.coarse_bytes);
  c.middle_bytes =
      sum.middle_keys * layout.middle_key_bytes() + sum.middle_values * layout.middle_value_bytes();
  if (step.direct)
    c.middle_bytes = step.blocks * static_cast<std::int64_t>(layout.low_bytes()) +
                     sum.scaled_blocks * block_keys * value_scale_bytes +
                     sum.middle_values * layout.value_stride();
  c.exact_bytes =
      (sum.exact_keys * shape.head_dim + sum.exact_values * shape.value_dim) * size_of(shape.dtype);
  return c;
}

/// The sums of a row over all spans, and what they say.
struct Totals {
  double used = 0;      // Σ ê
  double spread = 0;    // Σ δ
  double rounding = 0;  // of exact keys, a part of it
  double product = 0;   // the error's numerator
  double low = 0;
  double out_norm = 0;
};

Totals totals_of(const Step& step, int r) {
  Totals t;
  for (std::int64_t span = 0; span <= step.spans; ++span) {
    const SpanRow& sums = step.sums(span, r);
    t.used += sums.used;
    t.spread += sums.spread;
    t.rounding += sums.rounding;
    t.product += sums.product;
    t.low += static_cast<double>(sums.low);
  }
  return t;
}

/// out = (what codes and centroids add up to + what exact values do) / Σ ê; returns ‖out‖₂, at least.
double write_output(const Step& step, int r, const Totals& totals, double* sum, std::span<float> out) {
  // A span's two partial outputs lie one after the other; exact values in the order of their kernels.
  const std::int64_t width = step.layout->value_d32 + step.o_stride;
  const double* exact = sum + step.layout->value_d32;
  std::fill_n(sum, width, 0.0);
  for (std::int64_t span = 0; span <= step.spans; ++span) {
    const float* partial = step.coded_sum(span, r);
    for (std::int64_t c = 0; c < width; ++c) sum[c] += static_cast<double>(partial[c]);
  }
  double norm2 = 0;
  for (std::size_t c = 0; c < out.size(); ++c) {
    const auto at = place(step.call->kernels, step.call->type, static_cast<std::int64_t>(c));
    out[c] = static_cast<float>((totals.low + sum[c] + exact[at]) / totals.used);
    norm2 += static_cast<double>(out[c]) * out[c];
  }
  return std::sqrt(norm2) * (1 + 0x1p-40);
}

/// Σ over blocks of (uncertainty of the block)·(distance of its centroid from the output), for every row.
void add_distances(const Step& step, View<float> out, float* scratch, std::span<Totals> totals) {
  const Layout& layout = *step.layout;
  const double relative = 1 + (static_cast<double>(layout.value_d32) + 12) * unit_roundoff;
  for (int r = 0; r < step.rows; ++r) {
    const auto from = out.row(step.row[static_cast<std::size_t>(r)].index);
    float* to = std::ranges::copy(from, scratch + r * layout.value_d32).out;
    std::fill(to, scratch + (r + 1) * layout.value_d32, 0.0F);
  }
  std::array<float, sieve_rows> squares;
  for (std::int64_t block = 0; block < step.blocks; ++block) {
    const auto* ahead =
        step.index->coarse_block(step.head, std::min(block + 8, step.blocks - 1)).centroid();
    for (std::int64_t c = 0; c < layout.value_d; c += 32) __builtin_prefetch(ahead + c);
    step.call->kernels.sieve.distances(
        reinterpret_cast<const std::uint16_t*>(step.index->coarse_block(step.head, block).centroid()),
        layout.value_d32, scratch, step.rows, squares.data());
    for (int r = 0; r < step.rows; ++r) {
      const float spread = step.at(block, r).spread;
      if (spread == 0.0F) continue;  // the distance may be infinite
      totals[static_cast<std::size_t>(r)].product +=
          static_cast<double>(spread) *
          std::sqrt(static_cast<double>(squares[static_cast<std::size_t>(r)])) * relative;
    }
  }
}

}  // namespace

bool certify(Step& step, float* scratch, View<float> out, std::span<float> lse,
             std::span<Certificate> certificates) {
  for (std::int64_t span = 0; span <= step.spans; ++span)
    if (step.reads[span].failed) return false;
  std::array<Totals, sieve_rows> totals;
  for (int r = 0; r < step.rows; ++r) {
    const StepRow& row = step.row[static_cast<std::size_t>(r)];
    Totals& t = totals[static_cast<std::size_t>(r)];
    if (row.seen == 0) {
      std::ranges::fill(out.row(row.index), 0.0F);
      continue;
    }
    t = totals_of(step, r);
    if (!(t.used > 0x1p-100) || !std::isfinite(t.used)) return false;
    t.out_norm = write_output(step, r, t, reinterpret_cast<double*>(scratch), out.row(row.index));
  }
  add_distances(step, out, scratch, totals);

  const Largest indexed = step.index->largest_of(step.head, step.blocks);
  const double value_norm = std::max(step.pinned_norm, static_cast<double>(indexed.value));
  const double radius = indexed.radius;
  const double root_d = std::sqrt(static_cast<double>(step.layout->value_d));
  // A term meets at most these many roundings on its way into the output.
  const double sums =
      160 + 2 * span_blocks + 2 * static_cast<double>(step.spans) + static_cast<double>(step.pinned) / 64;
  // Direct: sums of estimates are corrected for keys that are read exactly, which may leave a fifth of
  // them.
  const double chain = step.direct ? 5 * sums + 1024 : sums;
  const double gamma = chain * unit_roundoff / (1 - chain * unit_roundoff);
  // Codes of a span are added in one chain: up to 16 blocks of 128 keys.
  const double code_chain = chain + span_blocks * block_keys;
  const double code_gamma = code_chain * unit_roundoff / (1 - code_chain * unit_roundoff);
  // Weights below 2^-126 of the reference have vanished.
  const double vanished = static_cast<double>(step.keys) * 0x1p-125;
  const bool ladder = step.ladder();
  const Certificate reads = reads_of(step);
  for (int r = 0; r < step.rows; ++r) {
    const StepRow& row = step.row[static_cast<std::size_t>(r)];
    const Totals& t = totals[static_cast<std::size_t>(r)];
    const auto i = static_cast<std::size_t>(row.index);
    if (row.seen == 0) {
      lse[i] = -infinity;
      certificates[i] = {};
      continue;
    }
    Certificate c = reads;
    const double delta = t.spread * (1 + gamma) + vanished;
    const double total = t.used * (1 - gamma);
    // Dropping: what was dropped, and how far the exact keys' own weights may be off.
    const double exact = std::min(delta, t.rounding * (1 + gamma) + vanished);
    const double dropped = delta - exact;
    const double lowest = total - (ladder ? delta : exact);  // of the exact sum
    if (ladder) {
      c.tau = delta / total;
    } else {
      c.tau = lowest > 0 ? dropped / (lowest + dropped) + exact / total : 1;
    }
    c.tau = std::min(1.0, c.tau + 4 * unit_roundoff);

    const double numerator =
        t.product + step.sums(step.spans, r).spread * t.out_norm + vanished * (value_norm + t.out_norm);
    // Sums of values and of codes, products of weights and values that underflow, the division.
    const double rounding = 2 * gamma * (value_norm + radius) + 8 * code_gamma * root_d * radius +
                            (static_cast<double>(step.keys) * root_d * 0x1p-144) / total + 0x1p-140;
    // Exact attention is an average of values, so that it is not longer than the longest.
    c.error = value_norm + t.out_norm;
    if (lowest > 0)
      c.error =
          std::min(c.error, numerator * (1 + gamma) / lowest + rounding * (t.used * (1 + gamma) / lowest));

    const double logarithm = row.reference * 0.6931471805599453 + std::log(t.used);
    lse[i] = static_cast<float>(logarithm);
    c.lse_error = lowest > 0 ? std::max(-std::log(lowest / total), std::log1p(delta / total)) : infinity;
    c.lse_error += 2 * gamma + unit_roundoff * (1.01 * std::abs(logarithm) + 1);
    if (!std::isfinite(c.error)) return false;
    if (row.budget.kind == Budget::Kind::mass && !(c.tau <= row.budget.eps)) return false;
    certificates[i] = c;
  }
  return true;
}

}  // namespace tamis
