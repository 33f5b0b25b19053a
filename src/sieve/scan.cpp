// The coarse mesh: an upper bound of every key's weight from 4 bits per channel. Reads the coarse records
// once, d/2 + d/32 + 2 bytes per key and a little.
#include <algorithm>
#include <cmath>
#include <limits>

#include "sieve/fold.h"
#include "sieve/step.h"

namespace tamis {

std::int64_t step_scratch(const Layout& layout, int rows, std::int64_t o_stride) {
  const std::int64_t integers = rows * layout.d32 / 2;
  const std::int64_t pages = block_keys * (layout.d32 + layout.value_d32);  // gathered keys and values
  return 3 * layout.d32 + integers + pages + 4 * rows * block_keys + (6 * rows + 8) * picked_stride +
         rows * o_stride + (span_blocks + 1) * layout.value_d32;
}

FoldedBlock fold_block(const Step& step, std::int64_t block, float* scratch) {
  const Layout& layout = *step.layout;
  FoldedBlock folded;
  const auto coarse = step.index->coarse_block(step.head, block);
  step.call->kernels.sieve.fold(step.q, layout.d32, step.rows, coarse.centre(), coarse.step(),
                                coarse.head().unit, layout.d32, scratch, step.integers(block),
                                folded.row.data());
  return folded;
}

namespace {

/// Bounds of one block for every row, relative to each row's reference; see docs/certificates.md.
bool scan_block(Step& step, std::int64_t block, const void* ahead, std::int64_t ahead_bytes,
                float* scratch) {
  bool sane = true;
  const Layout& layout = *step.layout;
  const auto coarse = step.index->coarse_block(step.head, block);
  const BlockHead& head = coarse.head();
  const FoldedBlock folded = fold_block(step, block, scratch);
  const auto d = static_cast<double>(layout.d);
  const double root_d = std::sqrt(d);
  const double chain = sum_chain(*step.call, layout.d32);
  std::array<ScanRow, sieve_rows> scan;
  std::array<float, sieve_rows> sums, most;
  std::array<float, 2 * sieve_rows> powers;
  for (int r = 0; r < step.rows; ++r) {
    const Folded& f = folded.row[static_cast<std::size_t>(r)];
    const StepRow& row = step.row[static_cast<std::size_t>(r)];
    BlockRow& out = step.at(block, r);
    const double norm = std::sqrt(static_cast<double>(f.norm2)) * (1 + chain * unit_roundoff) + 0x1p-70;
    const double centre = row.query_norm * head.centre_norm;
    const double error =
        unit_roundoff * ((chain + 8) * centre + 110 * root_d * norm + 4 * std::abs(row.reference) + 88) +
        4.02 * d * f.step;
    const double shift = f.base - 7.5 * f.step * f.sum + error - row.reference;
    out.norm = static_cast<float>(norm * (1 + 0x1p-22));
    out.error = static_cast<float>(error * (1 + 0x1p-22));
    out.slope = static_cast<float>(norm * layout.coarse_unit * (1 + 0x1p-22));
    out.step = f.step;
    out.sum_xi = f.sum;
    const double width = static_cast<double>(out.slope) * head.coarse_most + out.error;
    powers[static_cast<std::size_t>(2 * r)] = static_cast<float>(-width);
    powers[static_cast<std::size_t>(2 * r + 1)] = static_cast<float>(width / 16);
    // x + x² bounds eˣ − 1 up to 1; beyond, `width` below is out of its range as well.
    const double x = 0.6931472 * unit_roundoff * ((chain + 3) * (centre + 8.01 * root_d * norm) + 132);
    out.rounding = static_cast<float>(x * (1 + x) * (1 + 0x1p-22));
    sane = sane && x < 0.5;
    // Beyond this even the estimates leave the range of f32 relative to each other.
    sane = sane && width < 50;
    scan[static_cast<std::size_t>(r)] = {out.slope, f.step, static_cast<float>(shift)};
  }
  step.call->kernels.exp2(powers.data(), 2 * step.rows);
  for (int r = 0; r < step.rows; ++r) {
    BlockRow& out = step.at(block, r);
    out.phi = powers[static_cast<std::size_t>(2 * r)];
    out.psi = step.ladder() ? 1.0F - out.phi + 0x1p-21F : 1.0F;
    // After refining a key is uncertain by about a sixteenth of the exponent.
    out.rho = step.ladder() ? (powers[static_cast<std::size_t>(2 * r + 1)] - 1.0F) * out.phi : out.phi;
  }
  step.call->kernels.sieve.scan(coarse.high(), layout.d4, coarse.norms(), step.integers(block), layout.d32,
                                step.rows, scan.data(), step.bounds(block, 0), sums.data(), most.data(),
                                ahead, ahead_bytes);
  for (int r = 0; r < step.rows; ++r) {
    float* weights = step.bounds(block, r);
    const std::int64_t seen = step.row[static_cast<std::size_t>(r)].seen - block * block_keys;
    bool changed = head.pinned > 0;
    if (changed)
      for (std::int64_t j = 0; j < block_keys; ++j)
        if (coarse.norms()[j] == pinned_code) weights[j] = 0.0F;
    if (seen < block_keys) {
      std::fill(weights + std::max<std::int64_t>(seen, 0), weights + block_keys, 0.0F);
      changed = true;
    }
    const Mask none{};
    step.at(block, r).sum = changed
                                ? step.call->kernels.sieve.sum_unmarked(weights, block_keys, none.data())
                                : sums[static_cast<std::size_t>(r)];
    // What was the largest may be gone since: then it is above what it should be, which costs a look.
    step.at(block, r).most = seen > 0 ? most[static_cast<std::size_t>(r)] : 0.0F;
    sane = sane && step.at(block, r).sum < 0x1p100F;
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
    if (!scan_block(step, block, step.q, 0, scratch)) step.sane = false;
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
      // A power of 2, so that nothing is rounded; what falls out of range below is counted as vanished.
      const auto factor = static_cast<float>(std::exp2(std::clamp(octaves, -149.0, 127.0)));
      float* weights = step.bounds(block, r);
      for (std::int64_t j = 0; j < block_keys; ++j) {
        // A bound at the floor of the scan's exponential says nothing about the weight: it may not grow.
        if (factor > 1.0F && weights[j] > 0.0F && weights[j] <= 0x1p-125F) step.sane = false;
        weights[j] *= factor;
      }
      row.sum *= factor;
      row.most *= factor;
      step.sane = step.sane && row.sum < 0x1p100F;
    }
  });
}

void scan_span(Step& step, std::int64_t span, float* scratch) {
  step.reads[span] = {};
  const Layout& layout = *step.layout;
  for (std::int64_t block = span * span_blocks; block < step.span_end(span); ++block) {
    if (step.sampled(block)) continue;
    const std::int64_t next = std::min(block + 1, step.blocks - 1);
    if (!scan_block(step, block, step.index->coarse_block(step.head, next).at,
                    next > block ? static_cast<std::int64_t>(layout.coarse_bytes) : 0, scratch))
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
