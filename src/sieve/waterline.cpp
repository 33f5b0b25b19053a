#include "sieve/waterline.h"

#include <bit>
#include <cmath>
#include <span>

namespace tamis::sieve {

namespace {

using Four = std::array<float, 4>;

/// The uncertainty of a weight of 1. For keys the three are those at the level of the look, at the
/// next level, and at the last. For values they are those without reading, at level 0, and at the
/// last level.
using Left = std::array<float, 3>;

/// The uncertainty of a block's weights for one row, in units of the row's reference.
struct Part {
  Left left;   ///< for a weight of 1
  float rest;  ///< of all weights together if nothing more is read
  float top;   ///< of the largest weight if nothing more is read
};

/// The uncertainty of a row that remains with a threshold t. Each weight w contributes the first of
/// left[0]·w and left[1]·w that is at most t, or else left[2]·w. For keys the sum is Σ δ, for
/// values it is Σ ê·‖v − v̂‖.
class Remains {
 public:
  /// left_of(b) returns the Left of block b.
  template <class LeftOf>
  Remains(const Problem& problem, const Look& look, int r, double reference, Part* parts,
          LeftOf left_of)
      : problem_(problem),
        look_(look),
        r_(r),
        parts_(parts, static_cast<std::size_t>(problem.blocks)) {
    float scale = 0;
    for (std::int64_t b = 0; b < problem.blocks; ++b) {
      if (b % span_blocks == 0)
        scale = static_cast<float>(
            std::exp2(std::max(look.reference_of(b / span_blocks, r) - reference, -120.0)));
      const Looked& looked = look.at(b, r);
      Left left = left_of(b);
      for (float& x : left) x *= scale;
      parts_[static_cast<std::size_t>(b)] = {left, looked.sum * left[0], looked.most * left[0]};
      all_ += static_cast<double>(looked.sum * left[0]);
      stays_ += static_cast<double>(looked.sum * left[2]);
      top_ = std::max(top_, looked.most * left[0]);
    }
  }

  /// Returns a threshold with which at most `limit` remains, and at least least_kept·limit unless a
  /// single key changes more than that; 0 if there is none. The search begins at `near`, on which
  /// the result depends. With `sampled` the final decision, too, rests on an estimate from a sample
  /// of the blocks.
  [[nodiscard]] double threshold(double limit, double near, bool sampled) const {
    if (!(limit > 0) || !(stays_ <= limit)) return 0;
    if (all_ <= limit) return 0x1p100;
    double ratio = 4;  // of neighbouring thresholds that are tried
    Four t = around(near, ratio);
    bool sample = parts_.size() > 2 * sampled_blocks;
    double below = 0;
    double above = static_cast<double>(top_);
    double kept = 0;  // what remains with `below`
    for (int pass = 1; pass <= most_passes; ++pass) {
      const std::array<double, 4> sums = at(t, sample);
      std::size_t yes = 0;
      while (yes < 4 && sums[yes] <= limit) ++yes;
      if (yes > 0 && static_cast<double>(t[yes - 1]) > below) {
        below = static_cast<double>(t[yes - 1]);
        kept = sums[yes - 1];
      }
      if (yes < 4) above = std::min(above, static_cast<double>(t[yes]));
      const bool found = below > 0 && (kept >= least_kept * limit || above <= 1.02 * below);
      if (found && (!sample || sampled)) return below;
      if (found) {
        // The sum over all blocks will be close to that of the sample.
        sample = false;
        ratio = 1.06;
        t = around(below, ratio);
        below = 0;
        above = static_cast<double>(top_);
      } else if (below == 0) {
        ratio *= ratio;
        t = around(above / (ratio * ratio * ratio), ratio);
      } else {
        const double step = std::pow(above / below, 0.2);
        for (int i = 0; i < 4; ++i)
          t[static_cast<std::size_t>(i)] = static_cast<float>(below * std::pow(step, i + 1));
      }
    }
    return below;
  }

 private:
  static constexpr std::size_t sampled_blocks = 64;
  static constexpr double least_kept = 0.94;
  static constexpr int most_passes = 24;

  static Four around(double near, double ratio) {
    Four t;
    double at = near / (ratio * std::sqrt(ratio));
    for (float& x : t) {
      x = static_cast<float>(std::clamp(at, 0x1p-126, 0x1p100));
      at *= ratio;
    }
    return t;
  }

  /// Returns what remains with each of four ascending thresholds. With `sample` it reads all blocks
  /// of which much may remain, and estimates the sum over the others from some of them.
  [[nodiscard]] std::array<double, 4> at(const Four& t, bool sample) const {
    const auto heavy =
        static_cast<float>(sample ? 2 * all_ / static_cast<double>(sampled_blocks) : 0);
    const std::size_t stride = parts_.size() / sampled_blocks;
    Four read{}, drawn{};
    double light = 0;
    double others = 0;
    double drawn_rest = 0;
    std::size_t count = 0;
    for (std::size_t b = 0; b < parts_.size(); ++b) {
      const Part& part = parts_[b];
      if (part.top <= t[0]) {
        light += static_cast<double>(part.rest);
      } else if (part.rest >= heavy) {
        add(b, t, read);
      } else {
        others += static_cast<double>(part.rest);
        if (count++ % stride != 0) continue;
        drawn_rest += static_cast<double>(part.rest);
        add(b, t, drawn);
      }
    }
    const double worth = drawn_rest > 0 ? others / drawn_rest : 0;
    std::array<double, 4> sums;
    for (std::size_t i = 0; i < 4; ++i)
      sums[i] = light + static_cast<double>(read[i]) + worth * static_cast<double>(drawn[i]);
    return sums;
  }
  void add(std::size_t b, const Four& t, Four& sums) const {
    const Part& part = parts_[b];
    problem_.kernels.sieve.tail_sums(look_.weights(static_cast<std::int64_t>(b), r_), page_tokens,
                                     part.left.data(), t.data(), sums.data());
  }

  const Problem& problem_;
  const Look& look_;
  int r_;
  std::span<Part> parts_;
  double all_ = 0;    ///< what remains with an infinite threshold
  double stays_ = 0;  ///< what remains with a threshold of 0
  float top_ = 0;     ///< the largest Part::top
};

/// Returns the factor from the units of the row to those of a block's span.
double span_scale(const Look& look, std::int64_t block, int r, double reference) {
  return std::exp2(std::min(reference - look.reference_of(block / span_blocks, r), 120.0));
}

/// Bit j of a mask: token j of a block is above a limit for some row.
using Mask = std::array<std::uint32_t, 4>;
int count(const Mask& mask) {
  int n = 0;
  for (const std::uint32_t word : mask) n += std::popcount(word);
  return n;
}

/// Returns the bytes of planes that are expected to be read of a block after the look, with a
/// threshold relative to Σ ê (for values to ρ·Σ ê).
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
        const auto limit = static_cast<float>(std::min(threshold * worth * scale, 0x1p126));
        problem.kernels.sieve.mark_above(look.weights(b, r), page_tokens,
                                         weight_at(limit, static_cast<float>(per_weight(l, r))),
                                         mask.data());
      }
      const int above = count(mask);
      if (above == 0) break;
      rows += above;
    }
    return rows;
  };
  const double keys = planes_above(
      look.planes,
      [&](int l, int r) {
        return static_cast<double>(look.at(b, r).psi[static_cast<std::size_t>(l - 1)]);
      },
      false);
  const double values = planes_above(
      0,
      [&](int l, int) {
        const float typical = head.value_spread / std::max(head.value_radius, 0x1p-100F);
        return static_cast<double>(
            l == 0 ? head.value_spread
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
  double distances = 0;
  for (std::int64_t b = 0; b < problem.blocks; ++b)
    distances += static_cast<double>(look.values[b].spread);
  for (int r = 0; r < problem.rows; ++r) {
    Expected& e = all[static_cast<std::size_t>(r)];
    const Partial& exact = raw[static_cast<std::size_t>(r)];
    e.reference = exact.used > 0 ? exact.reference : -0x1p20;
    for (std::int64_t span = 0; span < problem.spans(); ++span)
      e.reference = std::max(e.reference, look.reference_of(span, r));
    const double factor = std::exp2(exact.reference - e.reference);
    if (exact.used > 0) e.used = exact.used * factor;
    for (std::int64_t span = 0; span < problem.spans(); ++span) {
      double used = 0;
      for (std::int64_t b = span * span_blocks; b < problem.span_end(span); ++b)
        used += static_cast<double>(look.at(b, r).sum);
      const double scale = std::exp2(look.reference_of(span, r) - e.reference);
      e.used += used * scale;
    }
    if (problem.blocks > 0) e.distance = distances * e.used / static_cast<double>(problem.blocks);
  }
  return all;
}

std::int64_t waterline_scratch(const Problem& problem) {
  Arena arena(nullptr);
  arena.take<Part>(problem.blocks);
  return arena.floats();
}

Waterline waterline_for_mass(const Problem& problem, const Look& look, std::span<const Partial> raw,
                             std::span<const double> share, float* scratch) {
  const auto expected = expected_of(problem, look, raw);
  Part* parts = Arena(scratch).take<Part>(problem.blocks);
  Waterline line;
  // Heads that share keys have similar thresholds, as a share of what may remain, so each search
  // begins at the result of the row before.
  double near_key = 1.0 / 64;
  double near_value = 1.0 / 64;
  for (int r = 0; r < problem.rows; ++r) {
    const auto i = static_cast<std::size_t>(r);
    const Expected& e = expected[i];
    const double eps = problem.row[i].budget->eps;
    line.reference[i] = e.reference;
    const double exact =
        raw[i].used > 0 ? raw[i].spread * std::exp2(raw[i].reference - e.reference) : 0;
    const double left = share[i] * eps * e.used - exact;
    const auto of_key = [&](std::int64_t b) {
      const Looked& looked = look.at(b, r);
      const int last = problem.coded(b).levels - 1;
      const auto psi = [&](int l) {
        return std::min(looked.psi[static_cast<std::size_t>(std::min(l, last))], 0x1p60F);
      };
      return Left{psi(look.planes - 1), psi(look.planes), psi(last)};
    };
    line.key[i] = Remains(problem, look, r, e.reference, parts, of_key)
                      .threshold(left, near_key * left, false);
    const double error = problem.options.value_share * eps * e.distance;
    const auto of_value = [&](std::int64_t b) {
      const LookedValues& values = look.values[b];
      return Left{values.spread, values.missing, problem.coded(b).levels == 1 ? values.missing : 0};
    };
    line.value[i] = Remains(problem, look, r, e.reference, parts, of_value)
                        .threshold(error, near_value * error, true);
    const auto keep = [](double& near, double threshold, double of) {
      if (threshold > 0 && threshold < 0x1p99) near = threshold / of;
    };
    keep(near_key, line.key[i], left);
    keep(near_value, line.value[i], error);
  }
  return line;
}

Waterline waterline_for_bytes(const Problem& problem, const Look& look,
                              std::span<const Partial> raw, double bytes) {
  const auto expected = expected_of(problem, look, raw);
  const auto cost = [&](double threshold) {
    double sum = 0;
    for (std::int64_t b = 0; b < problem.blocks; ++b)
      sum += bytes_above(problem, look, {expected.data(), static_cast<std::size_t>(problem.rows)},
                         b, threshold);
    return sum;
  };
  constexpr int fineness = 16;  // points per octave: 2^(i/fineness)
  int low = -60 * fineness;     // too many bytes
  int high = 10 * fineness;     // few enough
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
