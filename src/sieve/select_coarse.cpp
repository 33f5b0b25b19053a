// After the scan: which keys to refine.
#include <limits>

#include "sieve/select.h"
#include "sieve/select_parts.h"

namespace tamis {

namespace {

void start_coarse(Step& step, const float* warm) {
  for (int r = 0; r < step.rows; ++r) {
    StepRow& row = row_of(step, r);
    row.expected = sum_over_spans(step, r, &SpanRow::expected);
    row.coarse = std::numeric_limits<double>::infinity();
    const double share = step.ladder() ? 1.0 : unrefined_share;
    row.limit = step.strictness * share * row.budget.eps * row.expected;
    const float before = warm[r];
    const double guess =
        std::isnan(before) ? 0.001 * row.budget.eps : std::exp2(static_cast<double>(before));
    row.walk.start(grid, guess * row.expected);
  }
  step.walk.start(grid, std::isnan(warm[0]) ? 1e-5 : std::exp2(static_cast<double>(warm[0])));
  step.counting = by_keys(step);
}

bool open_coarse(const Step& step) {
  switch (kind_of(step)) {
    case Kind::window:
      return false;
    case Kind::mass:
      return !all_done(step, &StepRow::walk);
    default:
      return step.counting ? !all_done(step, &StepRow::walk) : !step.walk.done();
  }
}

void ask_coarse(Step& step, std::int64_t span) {
  const Prices price(step);
  SpanReads& reads = step.reads[span];
  reads.asked = {};
  for (int r = 0; r < step.rows; ++r) step.sums(span, r).asked = {};
  for_each_picked(span * span_blocks, step.span_end(span), step.every, [&](std::int64_t block) {
    if (kind_of(step) == Kind::mass) {
      for (int r = 0; r < step.rows; ++r) {
        if (row_of(step, r).walk.done()) continue;
        const BlockRow& row = step.at(block, r);
        const auto& t = row_of(step, r).walk.asked();
        const bool ladder = step.ladder();
        step.call->kernels.sieve.tail_sums(step.bounds(block, r), block_keys, row.psi,
                                           ladder ? row.rho : 0.0F,
                                           static_cast<float>(price.exact_key / price.middle_key), t.data(),
                                           step.sums(span, r).asked.data());
      }
    } else if (step.counting) {
      for (int r = 0; r < step.rows; ++r) {
        if (row_of(step, r).walk.done()) continue;
        const auto& t = row_of(step, r).walk.asked();
        for (std::size_t i = 0; i < 4; ++i)
          step.sums(span, r).asked[i] += static_cast<float>(
              keys_above(step, step.bounds(block, r), block_keys, static_cast<double>(t[i])));
      }
    } else {
      for (std::size_t i = 0; i < 4; ++i)
        reads.asked[i] +=
            std::llround(coarse_bytes(step, price, block, static_cast<double>(step.walk.asked()[i])));
    }
  });
}

void answer_coarse(Step& step) {
  const double looked_at = share_looked_at(step.blocks, step.every);
  if (kind_of(step) != Kind::mass && !step.counting) {
    step.walk.answer([&](int i) {
      return static_cast<double>(asked_reads(step, i)) > looked_at * static_cast<double>(step.cap);
    });
    return;
  }
  // Dropping by number of keys: four times as many are looked at as are kept.
  const std::int64_t candidates = step.ladder() ? 1 : 4;
  for (int r = 0; r < step.rows; ++r) {
    StepRow& row = row_of(step, r);
    if (row.walk.done()) continue;
    row.walk.answer([&](int i) {
      const float sum = asked_sum(step, r, &SpanRow::asked, i);
      return step.counting
                 ? static_cast<double>(sum) > looked_at * static_cast<double>(candidates * row.keys)
                 : static_cast<double>(sum) <= looked_at * row.limit;
    });
  }
}

/// Keys that the thresholds theta·expected mark for refining, over all blocks.
double refined_keys(const Step& step, double theta) {
  std::int64_t keys = 0;
  for (std::int64_t block = 0; block < step.blocks; ++block) {
    Mask mask{};
    for (int r = 0; r < step.rows; ++r)
      mark(step, step.bounds(block, r), block_keys,
           theta * row_of(step, r).expected / step.at(block, r).psi, mask);
    keys += bits_in(mask);
  }
  return static_cast<double>(keys);
}

/// Ends a walk: thresholds, or the next walk of budgets that count keys first and bytes then.
void finish_coarse(Step& step, float* warm) {
  const Prices price(step);
  const auto remember = [&](int r, double t) {
    warm[r] = t > 0 && row_of(step, r).expected > 0
                  ? static_cast<float>(std::log2(t / row_of(step, r).expected))
                  : std::numeric_limits<float>::quiet_NaN();
  };
  if (kind_of(step) == Kind::window) return;
  if (kind_of(step) == Kind::mass || step.counting) {
    for (int r = 0; r < step.rows; ++r) {
      StepRow& row = row_of(step, r);
      row.coarse = step.counting ? row.walk.first_no() : row.walk.last_yes();
      if (kind_of(step) == Kind::mass) remember(r, row.coarse);
    }
    if (kind_of(step) == Kind::mass || !step.ladder()) return;
    // The bytes that reading the heaviest keys exactly would take are spent as the ladder sees fit.
    std::int64_t keys = 0;
    for (std::int64_t block = 0; block < step.blocks; ++block) {
      Mask mask{};
      for (int r = 0; r < step.rows; ++r)
        mark(step, step.bounds(block, r), block_keys, row_of(step, r).coarse, mask);
      keys += bits_in(mask);
    }
    std::int64_t asked = 0;
    for (int r = 0; r < step.rows; ++r) asked += row_of(step, r).keys;
    keys = std::min(keys, asked);
    step.cap = keys * std::llround(price.exact_key + price.exact_value);
    step.counting = false;
    return;
  }
  // The walk saw a sample; what refining takes of the cap is counted over all blocks.
  double theta = step.walk.first_no();
  while (theta < 0x1p100 && refined_keys(step, theta) * price.middle_key > static_cast<double>(step.cap))
    theta *= 0x1.306fe0p0;  // a quarter of an octave
  for (int r = 0; r < step.rows; ++r) row_of(step, r).coarse = theta * row_of(step, r).expected;
  warm[0] = static_cast<float>(std::log2(theta));
}

}  // namespace

void walk_coarse(Step& step, float* warm) {
  start_coarse(step, warm);
  for (bool counted = step.counting;; counted = false) {
    while (open_coarse(step)) {
      ask_all(step, ask_coarse);
      answer_coarse(step);
    }
    finish_coarse(step, warm);
    if (!counted || step.counting) return;  // keys were counted, and the ladder now spends their bytes
  }
}

void select_coarse(Step& step, float* warm) {
  step.every = walk_stride(step);
  walk_coarse(step, warm);
}

}  // namespace tamis
