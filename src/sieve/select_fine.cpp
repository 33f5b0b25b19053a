// After refining: which keys to read exactly, and which values to read.
#include "sieve/select.h"
#include "sieve/select_parts.h"

namespace tamis {

namespace {

/// What refining asks about, in steps of the grid from where the coarse thresholds lead.
constexpr std::array<int, 4> first_steps{-3, 3, 7, 12};

void start_fine(Step& step) {
  const Prices price(step);
  std::int64_t spent = 0;
  for (std::int64_t span = 0; span < step.spans; ++span) spent += step.reads[span].middle_keys;
  step.cap -= std::llround(static_cast<double>(spent) * price.middle_key);
  step.walk.start(grid, row_of(step, 0).coarse / std::max(row_of(step, 0).expected, 0x1p-100));
  step.counting = by_keys(step) && !step.ladder();
  for (int r = 0; r < step.rows; ++r) {
    StepRow& row = row_of(step, r);
    const double used = sum_over_spans(step, r, &SpanRow::used);
    const double spread = sum_over_spans(step, r, &SpanRow::spread);
    double tail = 0;
    for (std::int64_t block = 0; block < step.blocks; ++block)
      tail += static_cast<double>(step.at(block, r).phi) * step.at(block, r).rest;
    // τ ≤ D/Ẑ with the ladder, D/(H + D) without: what the estimates promise, less a little for rounding.
    const double eps = row.budget.eps * 0.998;
    row.limit = eps * used - spread;
    const double value_limit = row.budget.eps * used;
    row.value_limit = std::max(value_limit - tail, value_limit / 4);
    if (kind_of(step) != Kind::mass) row.walk.start(grid, row.coarse * price.exact_key / price.middle_key);
  }
}

bool open_walks(const Step& step) {
  switch (kind_of(step)) {
    case Kind::window:
      return false;
    case Kind::mass:
      return !all_done(step, &StepRow::walk) || (step.ladder() && !all_done(step, &StepRow::value_walk));
    default:
      return step.counting ? !all_done(step, &StepRow::walk) : !step.walk.done();
  }
}

}  // namespace

bool open_fine(const Step& step) { return open_walks(step); }

void plan_fine(Step& step) {
  if (kind_of(step) != Kind::mass) return;
  const Prices price(step);
  for (int r = 0; r < step.rows; ++r) {
    StepRow& row = row_of(step, r);
    row.walk.start(grid, row.coarse * price.exact_key / price.middle_key, first_steps);
    row.value_walk.start(grid, row.coarse, first_steps);
  }
}

void ask_refined(Step& step, std::int64_t block) {
  const int n = step.count[block];
  if (kind_of(step) != Kind::mass || n == 0) return;
  const Prices price(step);
  const float missing = coded_values(step, price) ? residual_share(step, block) : 0.0F;
  for (int r = 0; r < step.rows; ++r) {
    const StepRow& row = row_of(step, r);
    SpanRow& sums = step.sums(block / span_blocks, r);
    if (!row.walk.done())
      step.call->kernels.sieve.sums_below(step.deltas(block, r), n, row.walk.asked().data(),
                                          sums.asked.data());
    if (step.ladder() && !row.value_walk.done())
      step.call->kernels.sieve.tail_sums(step.estimates(block, r), n, 1.0F, missing, price.value_ratio(),
                                         row.value_walk.asked().data(), sums.asked_value.data());
  }
}

void ask_fine(Step& step, std::int64_t span) {
  const Prices price(step);
  SpanReads& reads = step.reads[span];
  reads.asked = {};
  for (int r = 0; r < step.rows; ++r) step.sums(span, r).asked = step.sums(span, r).asked_value = {};
  for_each_picked(span * span_blocks, step.span_end(span), step.every, [&](std::int64_t block) {
    const int n = step.count[block];
    if (n == 0) return;
    ask_refined(step, block);
    if (kind_of(step) == Kind::mass) return;
    for (int r = 0; r < step.rows && step.counting; ++r) {
      const StepRow& row = row_of(step, r);
      const auto& t = row.walk.asked();
      for (std::size_t i = 0; i < 4 && !row.walk.done(); ++i)
        step.sums(span, r).asked[i] +=
            static_cast<float>(keys_above(step, step.deltas(block, r), n, static_cast<double>(t[i])));
    }
    for (std::size_t i = 0; i < 4 && !step.counting; ++i)
      reads.asked[i] +=
          std::llround(fine_bytes(step, price, block, static_cast<double>(step.walk.asked()[i])));
  });
}

void answer_fine(Step& step) {
  const double looked_at = share_looked_at(step.blocks, step.every);
  if (kind_of(step) != Kind::mass && !step.counting) {
    step.walk.answer([&](int i) {
      return static_cast<double>(asked_reads(step, i)) > looked_at * static_cast<double>(step.cap);
    });
  } else {
    for (int r = 0; r < step.rows; ++r) {
      StepRow& row = row_of(step, r);
      if (!row.walk.done())
        row.walk.answer([&](int i) {
          const double sum = asked_sum(step, r, &SpanRow::asked, i);
          return step.counting ? sum > looked_at * static_cast<double>(row.keys)
                               : sum <= looked_at * row.limit;
        });
      if (kind_of(step) == Kind::mass && step.ladder() && !row.value_walk.done())
        row.value_walk.answer([&](int i) {
          return static_cast<double>(asked_sum(step, r, &SpanRow::asked_value, i)) <= row.value_limit;
        });
    }
  }
}

bool select_fine(Step& step) {
  start_fine(step);
  if (kind_of(step) == Kind::mass) {
    for (int r = 0; r < step.rows; ++r)
      if (row_of(step, r).seen > 0 && !(row_of(step, r).limit > 0)) return false;
    step.every = 1;
    answer_fine(step);  // what refining asked
    // The best threshold takes more passes over what was refined than the reading it saves.
    if (!step.options->fewest_bytes)
      for (int r = 0; r < step.rows; ++r) row_of(step, r).walk.settle();
    return true;
  }
  step.every = walk_stride(step);
  while (open_walks(step)) {
    ask_all(step, ask_fine);
    answer_fine(step);
  }
  if (step.every == 1) return true;
  step.every = 1;
  step.walk.restart();
  for (int r = 0; r < step.rows; ++r) row_of(step, r).walk.restart();
  return true;
}

void mark_fine(Step& step, std::int64_t span) {
  if (kind_of(step) == Kind::window) return;
  const Prices price(step);
  const double ratio = price.exact_value / price.middle_value;
  const bool shared = kind_of(step) != Kind::mass && !step.counting;
  const double cost = step.ladder() ? price.exact_key : price.exact_key + price.exact_value;
  for (std::int64_t block = span * span_blocks; block < step.span_end(span); ++block) {
    const int n = step.count[block];
    if (n == 0) continue;
    const double missing = std::max(static_cast<double>(residual_share(step, block)), 1e-6);
    Mask& exact = step.exact[block];
    Mask& coded = step.coded_value[block];
    Mask& whole = step.exact_value[block];
    for (int r = 0; r < step.rows; ++r) {
      const StepRow& row = row_of(step, r);
      double key = step.counting ? row.walk.first_no() : row.walk.last_yes();
      double value = row.value_walk.last_yes();
      if (shared) {
        const double t = step.walk.first_no() * row.expected;
        key = t * (cost / price.middle_key);
        value = value_worth * t;
      }
      mark(step, step.deltas(block, r), n, key, exact);
      if (!step.ladder()) continue;
      if (coded_values(step, price)) {
        mark(step, step.estimates(block, r), n, value, coded);
        mark(step, step.estimates(block, r), n, value * ratio / missing, whole);
      } else {
        mark(step, step.estimates(block, r), n, shared ? value * ratio : value, whole);
      }
    }
    if (!step.ladder()) whole = exact;
    for (std::size_t w = 0; w < 4; ++w) coded[w] &= ~whole[w];
  }
}

}  // namespace tamis
