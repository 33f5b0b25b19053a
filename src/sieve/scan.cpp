// The coarse mesh: an upper bound of every key's weight from 4 bits per channel. Reads the coarse records
// once, d/2 + d/32 + 2 bytes per key and a little. Where time counts more than bytes, both meshes at once:
// an estimate of every key's weight from 8 bits per channel, d/2 bytes more.
#include <algorithm>
#include <cmath>
#include <limits>

#include "sieve/fold.h"
#include "sieve/gathered.h"

namespace tamis {

std::int64_t step_scratch(const Layout& layout, int rows, std::int64_t o_stride) {
  const std::int64_t integers = rows * layout.d32 / 2;
  const std::int64_t pages = block_keys * (layout.d32 + layout.value_d32);  // gathered keys and values
  return fold_scratch * layout.d32 + integers + pages + 4 * rows * block_keys +
         (6 * rows + 8) * picked_stride + rows * o_stride + (span_blocks + 1) * layout.value_d32 +
         direct_scratch(layout, rows);
}

FoldedBlock fold_block(const Step& step, std::int64_t block, float* scratch) {
  const Layout& layout = *step.layout;
  FoldedBlock folded;
  const auto coarse = step.index->coarse_block(step.head, block);
  step.call->kernels.sieve.fold(step.q, layout.d32, step.rows, coarse.centre(), coarse.step(),
                                coarse.head().unit, layout.d32, scratch, step.integers(block, scratch),
                                folded.row.data());
  return folded;
}

namespace {

/// What the codes of a block say about the logits of a row, but for the codes themselves.
struct LogitBound {
  double norm;      ///< ‖x‖, at least
  double error;     ///< beyond what the key's residual moves, in octaves
  double rounding;  ///< relative, of a weight computed from an exact key
};

/// See docs/certificates.md, "Bounds of a logit".
LogitBound bound_of(const Step& step, const BlockHead& head, const Folded& f, const StepRow& row) {
  const auto d = static_cast<double>(step.layout->d);
  const double root_d = step.root_d;
  const double chain = step.chain;
  const double norm = std::sqrt(static_cast<double>(f.norm2)) * (1 + chain * unit_roundoff) + 0x1p-70;
  const double centre = row.query_norm * head.centre_norm;
  const double error =
      unit_roundoff * ((chain + 8) * centre + 134 * root_d * norm + 4 * std::abs(row.reference) + 88) +
      4.02 * d * f.step;
  // x + x² bounds eˣ − 1 up to 1; beyond, the widths below are out of their range as well.
  const double x = 0.6931472 * unit_roundoff * ((chain + 3) * (centre + 8.01 * root_d * norm) + 132);
  return {norm, error, x * (1 + x)};
}

/// The coarse mesh: a row of a block before its scan. False if its bounds would leave their range.
bool prepare_bounds(const Step& step, const BlockHead& head, const Folded& f, const StepRow& row,
                    BlockRow& out, ScanRow& scan, float* powers) {
  const LogitBound bound = bound_of(step, head, f, row);
  const double shift = f.base - 7.5 * f.step * f.sum + bound.error - row.reference;
  out.norm = static_cast<float>(bound.norm * (1 + 0x1p-22));
  out.error = static_cast<float>(bound.error * (1 + 0x1p-22));
  out.slope = static_cast<float>(bound.norm * step.layout->coarse_unit * (1 + 0x1p-22));
  out.step = f.step;
  out.sum_xi = f.sum;
  out.rounding = static_cast<float>(bound.rounding * (1 + 0x1p-22));
  const double width = static_cast<double>(out.slope) * head.coarse_most + out.error;
  powers[0] = static_cast<float>(-width);
  powers[1] = static_cast<float>(width / 16);
  scan = {out.slope, f.step, static_cast<float>(shift)};
  // Beyond 50 octaves even the estimates leave the range of f32 relative to each other.
  return bound.rounding < 0.75 && width < 50;
}

/// Both meshes at once: estimates instead of bounds, all of a block uncertain by one factor.
bool prepare_estimates(const Step& step, const BlockHead& head, const Folded& f, const StepRow& row,
                       BlockRow& out, ScanRow& scan) {
  const LogitBound bound = bound_of(step, head, f, row);
  const double shift = f.base - 127.5 / 16 * f.step * f.sum - row.reference;
  const double y = 0.6931472 * (bound.norm * step.layout->middle_unit * head.middle_most + bound.error);
  out.rounding = static_cast<float>(bound.rounding * (1 + 0x1p-22));
  out.phi = 1.0F;
  out.psi = static_cast<float>(y * (1 + 0.72 * y) * (1 + 0x1p-20));
  scan = {0.0F, f.step / 16, static_cast<float>(shift)};
  return bound.rounding < 0.75 && y < 1;
}

/// What is fetched while a block is scanned: the planes of the next one, and the record around them of one
/// that comes soon.
struct Next {
  std::int64_t planes;
  std::int64_t record;
};

/// Bounds, or estimates, of one block for every row, relative to each row's reference.
bool scan_block(Step& step, std::int64_t block, const Next& next, float* scratch) {
  bool sane = true;
  const Layout& layout = *step.layout;
  const SieveKernels& kernels = step.call->kernels.sieve;
  const auto coarse = step.index->coarse_block(step.head, block);
  const BlockHead& head = coarse.head();
  const FoldedBlock folded = fold_block(step, block, scratch);
  std::array<ScanRow, sieve_rows> scan;
  std::array<float, sieve_rows> sums, most;
  std::array<float, 2 * sieve_rows> powers;
  for (int r = 0; r < step.rows; ++r) {
    const auto at = static_cast<std::size_t>(r);
    const bool fits = step.direct ? prepare_estimates(step, head, folded.row[at], step.row[at],
                                                      step.at(block, r), scan[at])
                                  : prepare_bounds(step, head, folded.row[at], step.row[at],
                                                   step.at(block, r), scan[at], powers.data() + 2 * r);
    sane = sane && fits;
  }
  if (!step.direct) {
    step.call->kernels.exp2(powers.data(), 2 * step.rows);
    for (int r = 0; r < step.rows; ++r) {
      BlockRow& out = step.at(block, r);
      out.phi = powers[static_cast<std::size_t>(2 * r)];
      out.psi = step.ladder() ? 1.0F - out.phi + 0x1p-21F : 1.0F;
      // After refining a key is uncertain by about a sixteenth of the exponent.
      out.rho = step.ladder() ? (powers[static_cast<std::size_t>(2 * r + 1)] - 1.0F) * out.phi : out.phi;
    }
  }
  const auto after = step.index->coarse_block(step.head, next.planes);
  float* weights = step.bounds(block, 0);
  if (step.direct) {
    kernels.middle_dots(coarse.high(), step.index->middle_block(step.head, block).low(), layout.d32,
                        step.integers(block, scratch), step.rows, weights, after.high(),
                        step.index->middle_block(step.head, next.planes).low());
  } else {
    kernels.coarse_dots(coarse.high(), layout.d32, step.integers(block), step.rows, weights, after.high());
  }
  prefetch_row(step.index->coarse_block(step.head, next.record).at,
               static_cast<std::int64_t>(layout.centroid));
  kernels.bounds(step.direct ? nullptr : coarse.norms(), step.rows, scan.data(), weights, sums.data(),
                 most.data());
  for (int r = 0; r < step.rows; ++r, weights += block_keys) {
    const std::int64_t seen = step.row[static_cast<std::size_t>(r)].seen - block * block_keys;
    BlockRow& out = step.at(block, r);
    out.sum = sums[static_cast<std::size_t>(r)];
    out.most = most[static_cast<std::size_t>(r)];
    if (head.pinned > 0 || seen < block_keys) {
      for (std::int64_t j = 0; j < block_keys; ++j)
        if (coarse.norms()[j] == pinned_code || j >= seen) weights[j] = 0.0F;
      // In the order of every other sum over the block, which searches for thresholds rely on.
      std::array<float, 4> limits, below{};
      limits.fill(std::numeric_limits<float>::infinity());
      kernels.sums_below(weights, block_keys, limits.data(), below.data());
      out.sum = below[0];
      out.most = step.call->kernels.maximum(weights, block_keys);
    }
    sane = sane && out.sum < 0x1p100F;
  }
  return sane;
}

}  // namespace

// Four blocks, eight of a long context: enough to tell where dense attention is the better choice.
std::int64_t sample_stride(std::int64_t blocks) {
  return std::max<std::int64_t>(1, blocks / (blocks < 256 ? 4 : 8));
}

void sample(Step& step, float* scratch) {
  std::array<double, sieve_rows> top;
  top.fill(-std::numeric_limits<double>::infinity());
  step.sane = true;
  for_each_picked(0, step.blocks, sample_stride(step.blocks), [&](std::int64_t block) {
    // Relative to the logit of the block's centre, from where no logit of a sane head is 126 octaves away.
    const FoldedBlock folded = fold_block(step, block, scratch);
    for (int r = 0; r < step.rows; ++r)
      step.row[static_cast<std::size_t>(r)].reference =
          std::round(static_cast<double>(folded.row[static_cast<std::size_t>(r)].base));
    const std::int64_t later = block + sample_stride(step.blocks);
    const std::int64_t next = later < step.blocks ? later : block;
    if (!scan_block(step, block, {next, next}, scratch)) step.sane = false;
    for (int r = 0; r < step.rows; ++r) {
      const double reference = step.row[static_cast<std::size_t>(r)].reference;
      const float most = step.call->kernels.maximum(step.bounds(block, r), block_keys);
      step.at(block, r).spread = static_cast<float>(reference);
      if (most > 0.0F)
        top[static_cast<std::size_t>(r)] =
            std::max(top[static_cast<std::size_t>(r)], reference + std::log2(static_cast<double>(most)));
    }
  });
  for (int r = 0; r < step.rows; ++r)
    step.row[static_cast<std::size_t>(r)].reference = top[static_cast<std::size_t>(r)];
}

void settle_sample(Step& step) {
  for_each_picked(0, step.blocks, sample_stride(step.blocks), [&](std::int64_t block) {
    for (int r = 0; r < step.rows; ++r) {
      BlockRow& row = step.at(block, r);
      const double octaves =
          static_cast<double>(row.spread) - step.row[static_cast<std::size_t>(r)].reference;
      // A power of 2, so that nothing is rounded but products in the denormal range, which are counted as
      // vanished. In f64: bounds are up to 2^100, and with them a factor may count that no f32 holds.
      const double factor = std::exp2(std::min(octaves, 127.0));
      const auto scaled = [&](float x) { return static_cast<float>(static_cast<double>(x) * factor); };
      float* weights = step.bounds(block, r);
      for (std::int64_t j = 0; j < block_keys; ++j) {
        // A bound at the floor of the scan's exponential says nothing about the weight: it may not grow.
        if (factor > 1 && weights[j] > 0.0F && weights[j] <= 0x1p-125F) step.sane = false;
        weights[j] = scaled(weights[j]);
      }
      row.sum = scaled(row.sum);
      row.most = scaled(row.most);
      step.sane = step.sane && row.sum < 0x1p100F;
    }
  });
}

void scan_span(Step& step, std::int64_t span, float* scratch) {
  step.reads[span] = {};
  for (std::int64_t block = span * span_blocks; block < step.span_end(span); ++block) {
    if (step.sampled(block)) continue;
    const std::int64_t last = step.blocks - 1;
    if (!scan_block(step, block, {std::min(block + 1, last), std::min(block + 2, last)}, scratch))
      step.reads[span].failed = true;
  }
  for (int r = 0; r < step.rows; ++r) {
    double expected = 0;
    for (std::int64_t block = span * span_blocks; block < step.span_end(span); ++block)
      expected += static_cast<double>(step.at(block, r).phi) * step.at(block, r).sum;
    step.sums(span, r).expected = expected;
  }
}

}  // namespace tamis
