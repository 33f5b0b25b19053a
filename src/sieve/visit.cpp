#include "sieve/visit.h"

#include <algorithm>
#include <bit>

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

/// The limits on weights above which a key at each level, or a value, is above the waterline.
struct Above {
  Limits key;
  PerRow value;
  bool no_keys = true;    ///< no key of the block is above its limit at the level of the look
  bool no_values = true;  ///< no value is above its limit, by the estimates of the look
};

/// Computes the limits of a block and prefetches what will be read of it, as far as the
/// look can tell.
Above look_ahead(const Problem& problem, const Look& look, std::int64_t b,
                 const PerRow& key_threshold, const PerRow& value_threshold) {
  const int rows = look.rows;
  const int levels = problem.coded(b).levels;
  const cache::HeadBlock block = problem.block(b);
  __builtin_prefetch(block.record);
  __builtin_prefetch(block.record + 64);
  for (std::size_t at = problem.layout.value_centre; at < problem.layout.key_plane0; at += 64)
    __builtin_prefetch(block.record + at);
  Above above;
  for (int r = 0; r < rows; ++r) {
    const auto i = static_cast<std::size_t>(r);
    const Looked& looked = look.at(b, r);
    for (int l = look.planes - 1; l + 1 < levels; ++l)
      above.key[static_cast<std::size_t>(l)][i] =
          weight_at(key_threshold[i], looked.psi[static_cast<std::size_t>(l)]);
    above.value[i] = weight_at(value_threshold[i], look.values[b].spread);
  }
  const auto fetch = [&](const PerRow& limit, const std::uint8_t* plane, std::int64_t bytes) {
    std::array<std::uint32_t, 4> mask{};
    bool any = false;
    for (int r = 0; r < rows; ++r) {
      const float most = limit[static_cast<std::size_t>(r)];
      if (!(look.at(b, r).most > most)) continue;
      any = true;
      problem.kernels.sieve.mark_above(look.weights(b, r), page_tokens, most, mask.data());
    }
    for (std::size_t word = 0; any && word < mask.size(); ++word)
      for (std::uint32_t bits = mask[word]; bits != 0; bits &= bits - 1) {
        const auto j = static_cast<std::int64_t>(32 * word) + std::countr_zero(bits);
        for (std::int64_t at = 0; at < bytes; at += 64) __builtin_prefetch(plane + j * bytes + at);
      }
    return any;
  };
  for (int l = look.planes; l < levels; ++l) {
    const auto i = static_cast<std::size_t>(l);
    if (!fetch(above.key[i - 1], block.key_plane[i], problem.layout.key_row())) break;
    above.no_keys = false;
  }
  PerRow limit = above.value;
  const float finer = look.values[b].spread / std::max(look.values[b].missing, 0x1p-100F);
  for (int l = 0; l < levels; ++l) {
    if (!fetch(limit, block.value_plane[static_cast<std::size_t>(l)], problem.layout.value_row()))
      break;
    above.no_values = false;
    for (float& x : limit) x *= l == 0 ? finer : 16;
  }
  return above;
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
  Above above = look_ahead(problem, look, first, key_threshold, value_threshold);
  for (std::int64_t b = first; b < end; ++b) {
    const Above next =
        b + 1 < end ? look_ahead(problem, look, b + 1, key_threshold, value_threshold) : above;
    const cache::HeadBlock block = problem.block(b);
    const cache::BlockHead& head = block.head();
    const Sharpened keys = above.no_keys ? not_sharpened(problem, b, look)
                                         : sharpen_block(problem, block, b, look,
                                                         look.weights(b, 0), above.key, scratch);
    if (problem.told[0] != nullptr) tell_block(problem, b, keys.weight);
    const ValuesRead values =
        add_values(problem, block, keys, problem.coded(b).levels, value_threshold,
                   above.no_keys && above.no_values, scratch + sharpen_scratch(problem),
                   visits.out_of(span, 0));
    // Bounds ‖v̂ − mean‖ plus the distance of v from v̂, whatever was read of a value.
    const double radius = static_cast<double>(head.value_radius) +
                          2 * static_cast<double>(*std::ranges::max_element(head.value_missing));
    for (int r = 0; r < rows; ++r) {
      const auto i = static_cast<std::size_t>(r);
      Partial& sum = visits.at(span, r);
      sum.used += keys.used[i];
      sum.spread += keys.spread[i];
      if (keys.spread[i] > 0) sum.product += keys.spread[i] * radius;
      sum.product += values.product[i];
      sum.vanished += static_cast<double>(page_tokens) * vanished_per_key;
      visits.spread_of(b, r) = static_cast<float>(keys.spread[i] * (1 + 0x1p-22));
    }
    reads += {keys.key_rows, values.value_rows};
    above = next;
  }
  visits.reads[span] = reads;
}

}  // namespace tamis::sieve
