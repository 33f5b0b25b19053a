#include "sieve/waterline.h"

#include <bit>
#include <cmath>
#include <limits>

#include "sieve/walk.h"

namespace tamis::sieve {

using cache::block_tokens;

namespace {

using Four = std::array<double, 4>;
/// Points of thresholds per octave: what finer ones would save is less than their search takes.
constexpr int fineness = 16;

/// Where the weights of a span of blocks are summed: what a threshold of the row becomes there.
double span_scale(const Look& look, std::int64_t block, int r, double reference) {
  return std::exp2(std::min(reference - look.reference_of(block / span_blocks, r), 120.0));
}

/// Of numbers proportional to the weights of a block, read to the least of two levels at which they are
/// below a threshold: their sums for four thresholds.
struct TwoLevels {
  float first;   ///< per weight, at the level that all are read to
  float second;  ///< at the next one
  bool last;     ///< whether the second level is the last, where they stay whatever the threshold
};

TwoLevels key_levels(const Problem& problem, const Look& look, std::int64_t b, int r) {
  const Looked& looked = look.at(b, r);
  const int levels = problem.coded(b).levels;
  const auto psi = [&](int l) { return std::min(looked.psi[static_cast<std::size_t>(l)], 0x1p60F); };
  const int first = look.planes - 1;
  return {psi(first), psi(std::min(first + 1, levels - 1)), first + 2 >= levels};
}

TwoLevels value_levels(const Problem& problem, std::int64_t b) {
  const cache::BlockHead& head = problem.block(b).head();
  const float typical = head.value_spread / std::max(head.value_radius, 0x1p-100F);
  return {head.value_spread, head.value_missing[0] * typical, problem.coded(b).levels == 1};
}

/// Adds what remains of a block's weights to the sums of four thresholds, which are of the row.
void add_remaining(const Problem& problem, const Look& look, std::int64_t b, int r, const TwoLevels& levels,
                   double scale, const std::array<float, 4>& thresholds, Four& sums) {
  const Looked& looked = look.at(b, r);
  std::array<float, 4> limit, below{};
  for (std::size_t i = 0; i < 4; ++i)
    limit[i] = static_cast<float>(std::min(static_cast<double>(thresholds[i]) * scale, 0x1p126));
  const float least = *std::min_element(limit.begin(), limit.end());
  if (looked.most * levels.first <= least) {
    below.fill(looked.sum * levels.first);
  } else {
    problem.kernels.sieve.tail_sums(look.weights(b, r), block_tokens, levels.first, levels.second,
                                    levels.last ? 0x1p100F : 1.0F, limit.data(), below.data());
  }
  for (std::size_t i = 0; i < 4; ++i) sums[i] += static_cast<double>(below[i]) / scale;
}

/// What remains of a row for four thresholds, of one block in `stride`.
template <class LevelsOf>
Four remaining(const Problem& problem, const Look& look, int r, double reference, std::int64_t stride,
               const std::array<float, 4>& thresholds, LevelsOf levels_of) {
  Four sums{};
  std::int64_t span = -1;
  double scale = 0;
  for (std::int64_t b = stride / 2; b < problem.blocks; b += stride) {
    if (b / span_blocks != span) {
      span = b / span_blocks;
      scale = span_scale(look, b, r, reference);
    }
    add_remaining(problem, look, b, r, levels_of(b), scale, thresholds, sums);
  }
  return sums;
}

/// Blocks that stand for all: one in `stride`, the one in the middle.
std::int64_t stride_of_sample(std::int64_t blocks) { return std::max<std::int64_t>(1, blocks / 64); }

/// The largest threshold of the grid at which what remains of a sample of a row is at most its share of
/// `limit`.
template <class LevelsOf>
double threshold_of_sample(const Problem& problem, const Look& look, int r, double reference, double limit,
                           double near, LevelsOf levels_of) {
  if (!(limit > 0)) return 0;
  const std::int64_t stride = stride_of_sample(problem.blocks);
  const std::int64_t looked_at = (problem.blocks + stride - 1 - stride / 2) / stride;
  const double share = static_cast<double>(looked_at) / static_cast<double>(problem.blocks);
  Walk walk;
  walk.start(fineness, near);
  while (!walk.done()) {
    const Four sums = remaining(problem, look, r, reference, stride, walk.asked(), levels_of);
    walk.answer([&](int i) { return sums[static_cast<std::size_t>(i)] <= share * limit; });
  }
  return walk.last_yes();
}

/// What remains of a row by one threshold, of all blocks.
template <class LevelsOf>
double remaining_of_all(const Problem& problem, const Look& look, int r, double reference, double threshold,
                        LevelsOf levels_of) {
  double sum = 0;
  for (std::int64_t span = 0; span < problem.spans(); ++span) {
    const double scale = span_scale(look, span * span_blocks, r, reference);
    const auto limit = static_cast<float>(std::min(threshold * scale, 0x1p126));
    double of_span = 0;
    for (std::int64_t b = span * span_blocks; b < problem.span_end(span); ++b) {
      const TwoLevels levels = levels_of(b);
      const Looked& looked = look.at(b, r);
      of_span += static_cast<double>(looked.most * levels.first <= limit
                                         ? looked.sum * levels.first
                                         : problem.kernels.sieve.remaining(look.weights(b, r), levels.first,
                                                                           levels.second, limit,
                                                                           levels.last ? 0x1p126F : limit));
    }
    sum += of_span / scale;
  }
  return sum;
}

/// A threshold at which what remains of all blocks is at most `limit`, and not much less: what a sample
/// says, corrected by what that leaves.
template <class LevelsOf>
double threshold_of_all(const Problem& problem, const Look& look, int r, double reference, double limit,
                        double near, LevelsOf levels_of) {
  double threshold = threshold_of_sample(problem, look, r, reference, limit, near, levels_of);
  if (!(threshold > 0) || stride_of_sample(problem.blocks) == 1) return threshold;
  double best = 0;
  for (int questions = 1; questions <= 3 || (best == 0 && questions < 100); ++questions) {
    const double sum = remaining_of_all(problem, look, r, reference, threshold, levels_of);
    if (sum <= limit) {
      best = std::max(best, threshold);
      if (sum >= 0.94 * limit) break;
    }
    // Sums grow more slowly than thresholds, if anything.
    threshold *= std::clamp(0.98 * limit / std::max(sum, 0x1p-100), 0.25, 2.0);
  }
  return best;
}

/// How many keys of a block are above a threshold for some row: bits of a mask.
using Mask = std::array<std::uint32_t, 4>;
int count(const Mask& mask) {
  int n = 0;
  for (const std::uint32_t word : mask) n += std::popcount(word);
  return n;
}

/// Bytes of planes that are read of a block after the look, by thresholds that are relative to Σ ê.
double bytes_above(const Problem& problem, const Look& look, std::span<const Expected> expected,
                   std::int64_t b, double threshold) {
  const cache::CodedBlock& coded = problem.coded(b);
  const cache::BlockHead& head = problem.block(b).head();
  const auto planes_above = [&](int first, auto per_weight, bool values) {
    double rows = 0;
    for (int l = first; l < coded.levels; ++l) {
      Mask mask{};
      for (int r = 0; r < problem.rows; ++r) {
        const Expected& e = expected[static_cast<std::size_t>(r)];
        const double scale = span_scale(look, b, r, e.reference);
        const double worth = values ? e.distance : e.used;
        const double limit = threshold * worth * scale / std::max(per_weight(l, r), 0x1p-100);
        problem.kernels.sieve.mark_above(look.weights(b, r), block_tokens,
                                         static_cast<float>(std::min(limit, 0x1p126)), mask.data());
      }
      const int above = count(mask);
      if (above == 0) break;
      rows += above;
    }
    return rows;
  };
  const double keys = planes_above(
      look.planes,
      [&](int l, int r) { return static_cast<double>(look.at(b, r).psi[static_cast<std::size_t>(l - 1)]); },
      false);
  const double values = planes_above(
      0,
      [&](int l, int) {
        const float typical = head.value_spread / std::max(head.value_radius, 0x1p-100F);
        return static_cast<double>(l == 0 ? head.value_spread
                                          : typical * head.value_missing[static_cast<std::size_t>(l - 1)]);
      },
      true);
  return keys * static_cast<double>(problem.layout.key_row()) +
         values * static_cast<double>(problem.layout.value_row());
}

}  // namespace

std::array<Expected, most_rows> expected_of(const Problem& problem, const Look& look,
                                            std::span<const Partial> raw) {
  std::array<Expected, most_rows> all;
  for (int r = 0; r < problem.rows; ++r) {
    Expected& e = all[static_cast<std::size_t>(r)];
    const Partial& exact = raw[static_cast<std::size_t>(r)];
    e.reference = exact.used > 0 ? exact.reference : -0x1p20;
    for (std::int64_t span = 0; span < problem.spans(); ++span)
      e.reference = std::max(e.reference, look.reference_of(span, r));
    const double factor = std::exp2(exact.reference - e.reference);
    if (exact.used > 0) {
      e.used = exact.used * factor;
      e.spread = exact.spread * factor;
    }
    for (std::int64_t span = 0; span < problem.spans(); ++span) {
      double used = 0;
      double spread = 0;
      for (std::int64_t b = span * span_blocks; b < problem.span_end(span); ++b) {
        const Looked& looked = look.at(b, r);
        const float psi = std::min(looked.psi[static_cast<std::size_t>(look.planes - 1)], 0x1p60F);
        used += static_cast<double>(looked.sum);
        spread += static_cast<double>(looked.sum) * static_cast<double>(psi);
        e.distance += static_cast<double>(problem.block(b).head().value_spread);
      }
      const double scale = std::exp2(look.reference_of(span, r) - e.reference);
      e.used += used * scale;
      e.spread += spread * scale;
    }
    if (problem.blocks > 0) e.distance *= e.used / static_cast<double>(problem.blocks);
  }
  return all;
}

Waterline waterline_for_mass(const Problem& problem, const Look& look, std::span<const Partial> raw,
                             std::span<const double> share) {
  const auto expected = expected_of(problem, look, raw);
  Waterline line;
  for (int r = 0; r < problem.rows; ++r) {
    const auto i = static_cast<std::size_t>(r);
    const Expected& e = expected[i];
    const double eps = problem.row[i].budget->eps;
    line.reference[i] = e.reference;
    const double exact = raw[i].used > 0 ? raw[i].spread * std::exp2(raw[i].reference - e.reference) : 0;
    const double limit = share[i] * eps * e.used - exact;
    line.key[i] = e.spread - exact <= limit
                      ? 0x1p100
                      : threshold_of_all(problem, look, r, e.reference, limit, 0.01 * eps * e.used,
                                         [&](std::int64_t b) { return key_levels(problem, look, b, r); });
    // A sample alone would leave the values of a few heavy keys unread where none of them is in it.
    line.value[i] =
        threshold_of_all(problem, look, r, e.reference, problem.options.value_share * eps * e.distance,
                         0.01 * eps * e.distance, [&](std::int64_t b) { return value_levels(problem, b); });
  }
  return line;
}

Waterline waterline_for_bytes(const Problem& problem, const Look& look, std::span<const Partial> raw,
                              double bytes) {
  const auto expected = expected_of(problem, look, raw);
  const auto cost = [&](double threshold) {
    double sum = 0;
    for (std::int64_t b = 0; b < problem.blocks; ++b)
      sum += bytes_above(problem, look, {expected.data(), static_cast<std::size_t>(problem.rows)}, b,
                         threshold);
    return sum;
  };
  int low = -60 * fineness,
      high = 10 * fineness;  // of thresholds 2^(i/fineness): too many bytes, few enough
  while (high - low > 1) {
    const int middle = low + (high - low) / 2;
    if (cost(std::exp2(static_cast<double>(middle) / fineness)) <= bytes) {
      high = middle;
    } else {
      low = middle;
    }
  }
  const double threshold = std::exp2(static_cast<double>(high) / fineness);
  Waterline line;
  for (int r = 0; r < problem.rows; ++r) {
    const auto i = static_cast<std::size_t>(r);
    line.reference[i] = expected[i].reference;
    line.key[i] = threshold * expected[i].used;
    line.value[i] = threshold * expected[i].distance;
  }
  return line;
}

}  // namespace tamis::sieve
