// From sums to the output and its certificate. Every constant is derived in docs/certificates.md.
#include <algorithm>
#include <cmath>
#include <limits>

#include "sieve/step.h"

namespace tamis {
namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();

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
  c.exact_bytes =
      (sum.exact_keys * shape.head_dim + sum.exact_values * shape.value_dim) * size_of(shape.dtype);
  return c;
}

}  // namespace

bool certify(Step& step, float* scratch, View<float> out, std::span<float> lse,
             std::span<Certificate> certificates) {
  const Layout& layout = *step.layout;
  const auto d_v = static_cast<double>(layout.value_d);
  for (std::int64_t span = 0; span <= step.spans; ++span)
    if (step.reads[span].failed) return false;
  const Certificate reads = reads_of(step);
  double value_norm = step.pinned_norm;
  double radius = 0;
  for (std::int64_t block = 0; block < step.blocks; ++block) {
    const BlockHead& head = step.index->coarse_block(step.head, block).head();
    value_norm = std::max(value_norm, static_cast<double>(head.value_norm));
    radius = std::max(radius, static_cast<double>(head.radius));
  }
  // A term meets at most these many roundings on its way into the output.
  const double chain =
      160 + 2 * span_blocks + 2 * static_cast<double>(step.spans) + static_cast<double>(step.pinned) / 64;
  const double gamma = chain * unit_roundoff / (1 - chain * unit_roundoff);

  for (int r = 0; r < step.rows; ++r) {
    const StepRow& row = step.row[static_cast<std::size_t>(r)];
    const auto i = static_cast<std::size_t>(row.index);
    const auto o = out.row(row.index);
    if (row.seen == 0) {
      std::fill(o.begin(), o.end(), 0.0F);
      lse[i] = -std::numeric_limits<float>::infinity();
      certificates[i] = {};
      continue;
    }
    double used = 0, spread = 0, product = 0, low = 0;
    for (std::int64_t span = 0; span <= step.spans; ++span) {
      const SpanRow& sums = step.sums(span, r);
      used += sums.used;
      spread += sums.spread;
      product += sums.product;
      if (span < step.spans) low += static_cast<double>(sums.low);
    }
    if (!(used > 0x1p-100) || !std::isfinite(used)) return false;
    double norm2 = 0;
    for (std::size_t c = 0; c < o.size(); ++c) {
      const auto column = static_cast<std::int64_t>(c);
      const std::int64_t exact = place(step.call->kernels, step.call->type, column);
      double sum = low;
      for (std::int64_t span = 0; span <= step.spans; ++span)
        sum += static_cast<double>(step.coded_sum(span, r)[column]) +
               static_cast<double>(step.value_sum(span, r)[exact]);
      o[c] = static_cast<float>(sum / used);
      norm2 += static_cast<double>(o[c]) * o[c];
    }
    const double out_norm = std::sqrt(norm2) * (1 + 0x1p-40);

    // Float sums of a span err by gamma; weights below 2^-126 of the reference have vanished.
    const double vanished = static_cast<double>(step.keys) * 0x1p-125;
    const double delta = spread * (1 + gamma) + vanished;
    const bool ladder = step.ladder();
    const double total = used * (1 - gamma);
    Certificate c = reads;
    c.tau = std::min(1.0, (ladder ? delta / total : delta / (total + delta)) + 4 * unit_roundoff);

    double numerator =
        product + step.sums(step.spans, r).spread * out_norm + vanished * (value_norm + out_norm);
    for (std::int64_t block = 0; block < step.blocks; ++block) {
      const float spread_here = step.at(block, r).spread;
      if (spread_here == 0.0F) continue;
      step.call->kernels.widen[kv_bf16](step.index->coarse_block(step.head, block).centroid(), scratch,
                                        layout.value_d);
      float least, most, length2, distance2;
      step.call->kernels.sieve.value_range(scratch, layout.value_d, o.data(), &least, &most, &length2,
                                           &distance2);
      numerator += static_cast<double>(spread_here) * std::sqrt(static_cast<double>(distance2)) *
                   (1 + (d_v + 12) * unit_roundoff);
    }
    const double lowest = ladder ? total - delta : total;
    const double rounding = gamma * 2 * (value_norm + radius + 4 * std::sqrt(d_v) * radius) + 0x1p-140;
    // Both outputs are averages of values, so that neither is longer than the longest.
    c.error = std::min(lowest > 0 ? numerator * (1 + gamma) / lowest + rounding : infinity,
                       value_norm + out_norm);
    const double relative = ladder ? delta / total : 0;
    c.lse_error = ladder ? (relative < 1 ? -std::log1p(-relative) : infinity) : std::log1p(delta / total);
    const double exact_lse = row.reference * 0.6931471805599453 + std::log(used);
    lse[i] = static_cast<float>(exact_lse);
    c.lse_error += 2 * gamma + unit_roundoff * (std::abs(exact_lse) * 1.01 + 1);
    if (!std::isfinite(c.error)) return false;
    certificates[i] = c;
    if (row.budget.kind == Budget::Kind::mass && !(c.tau <= row.budget.eps)) return false;
  }
  return true;
}

}  // namespace tamis
