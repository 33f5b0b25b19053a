#include "sieve/visit.h"

#include <algorithm>

#include "sieve/error_model.h"
#include "sieve/sharpen.h"
#include "sieve/testing.h"
#include "sieve/values.h"

namespace tamis::sieve {

Visits::Visits(const Problem& problem, Arena& arena)
    : rows(problem.rows), value_d32(problem.layout.value_d32) {
  partial = arena.take<Partial>(problem.spans() * rows);
  out = arena.take<float>(problem.spans() * rows * value_d32);
  spread = arena.take<float>(problem.blocks * rows);
  reads = arena.take<Reads>(problem.spans());
}

std::int64_t visit_scratch(const Problem& problem) {
  return sharpen_scratch(problem) + values_scratch(problem);
}

namespace {

/// Thresholds on weights: above them a key's uncertainty is above the waterline.
Limits limits_of(const Look& look, std::int64_t b, const PerRow& threshold) {
  Limits limits;
  for (std::size_t l = 0; l < limits.size(); ++l)
    for (int r = 0; r < look.rows; ++r) {
      const auto i = static_cast<std::size_t>(r);
      limits[l][i] = std::min(threshold[i] / std::max(look.at(b, r).psi[l], 0x1p-100F), 0x1p126F);
    }
  return limits;
}

}  // namespace

void visit_span(const Problem& problem, const Look& look, const Waterline& line, std::int64_t span,
                float* scratch, const Visits& visits) {
  const int rows = problem.rows;
  PerRow key_threshold, value_threshold;
  for (int r = 0; r < rows; ++r) {
    const auto i = static_cast<std::size_t>(r);
    key_threshold[i] = in_span(line, look, span, r, line.key[i]);
    value_threshold[i] = in_span(line, look, span, r, line.value[i]);
    visits.at(span, r) = {};
    visits.at(span, r).reference = look.reference_of(span, r);
  }
  std::fill_n(visits.out_of(span, 0), rows * visits.value_d32, 0.0F);
  Reads reads;
  const std::int64_t first = span * span_blocks;
  const std::int64_t end = problem.span_end(span);
  const auto fetch = [&](std::int64_t b) {
    const cache::HeadBlock block = problem.block(b);
    PerRow value_limit;
    for (int r = 0; r < rows; ++r) {
      const auto i = static_cast<std::size_t>(r);
      value_limit[i] = value_threshold[i] / std::max(block.head().value_spread, 0x1p-100F);
    }
    const Limits limits = limits_of(look, b, key_threshold);
    fetch_rows(problem, block, b, look, limits, value_limit);
    return limits;
  };
  Limits limits = fetch(first);
  for (std::int64_t b = first; b < end; ++b) {
    const Limits ahead = b + 1 < end ? fetch(b + 1) : limits;
    const cache::HeadBlock block = problem.block(b);
    const cache::BlockHead& head = block.head();
    const Sharpened keys = sharpen_block(problem, block, b, look, look.weights(b, 0), limits, scratch);
    limits = ahead;
    if (problem.told[0] != nullptr) tell_block(problem, b, keys.weight);
    const ValuesRead values = add_values(problem, block, keys, problem.coded(b).levels, value_threshold,
                                         scratch + sharpen_scratch(problem), visits.out_of(span, 0));
    // A value that is read is at most the radius and what its level misses away from its block's mean.
    const double radius = static_cast<double>(head.value_radius) +
                          2 * static_cast<double>(*std::ranges::max_element(head.value_missing));
    for (int r = 0; r < rows; ++r) {
      const auto i = static_cast<std::size_t>(r);
      Partial& sum = visits.at(span, r);
      sum.used += keys.used[i];
      sum.spread += keys.spread[i];
      if (keys.spread[i] > 0) sum.product += keys.spread[i] * radius;
      sum.product += values.product[i];
      sum.vanished += static_cast<double>(cache::block_tokens) * vanished_per_key;
      visits.spread_of(b, r) = static_cast<float>(keys.spread[i] * (1 + 0x1p-22));
    }
    reads += {keys.key_rows, values.value_rows};
  }
  visits.reads[span] = reads;
}

}  // namespace tamis::sieve
