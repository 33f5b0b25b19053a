#include "sieve/select.h"

#include <bit>
#include <cmath>
#include <limits>

namespace tamis {
namespace {

/// Values may add as much to the error as this share of what the weights may: see docs/certificates.md.
constexpr double value_share = 0.7;
/// How much of a mass budget the coarse stage plans with: keys that other rows refine come for free.
constexpr double planned_share = 1.1;
/// Points per octave of the thresholds.
constexpr int grid = 4;
/// Under a budget of bytes a value is worth reading from this weight on, in units of the key threshold:
/// true errors of keys are far below their bounds, those of values are not.
constexpr double value_worth = 0.11;
/// Dropping: the share of the tolerance that keys which are not even refined may use up.
constexpr double unrefined_share = 0.15;

/// Walks look at a sample of blocks. A threshold that nothing is promised of is then settled; the one that
/// keeps a promise goes on from there over all blocks.
double share_looked_at(const Step& step) {
  return static_cast<double>(step.blocks / step.every) / static_cast<double>(step.blocks);
}

/// One block in so many is enough to place a threshold that nothing is promised of.
std::int64_t walk_stride(const Step& step) { return std::clamp<std::int64_t>(step.blocks / 16, 1, 16); }

using Kind = Budget::Kind;

Kind kind_of(const Step& step) { return step.row[0].budget.kind; }

StepRow& row_of(Step& step, int r) { return step.row[static_cast<std::size_t>(r)]; }
const StepRow& row_of(const Step& step, int r) { return step.row[static_cast<std::size_t>(r)]; }

float threshold(double t) { return static_cast<float>(std::min(t, 0x1p120)); }

int ones(const Mask& mask) {
  int n = 0;
  for (const std::uint32_t word : mask) n += std::popcount(word);
  return n;
}

/// How much of a value's distance from its centroid its code misses, at most.
float residual_share(const Step& step, std::int64_t block) {
  const BlockHead& head = step.index->coarse_block(step.head, block).head();
  return head.radius > 0 ? std::min(1.0F, 254 * head.residual_unit / head.radius) : 0.0F;
}

/// A row's share of a decision: weights above `limit` are marked, in place of four thresholds at once.
void mark(const Step& step, const float* weights, int n, double limit, Mask& mask) {
  step.call->kernels.sieve.mark_above(weights, n, threshold(limit), mask.data());
}

/// Bytes that values cost where `estimates(r)` are their weights and `t(r)` the key thresholds.
template <class Weights, class Threshold>
double value_bytes(const Step& step, const Prices& price, std::int64_t block, int n, Weights weights,
                   Threshold t) {
  Mask coded{};
  Mask exact{};
  const double missing = residual_share(step, block);
  for (int r = 0; r < step.rows; ++r) {
    const double worth = value_worth * t(r);
    if (step.layout->values) {
      mark(step, weights(r), n, worth, coded);
      mark(step, weights(r), n, worth * (price.exact_value / price.middle_value) / std::max(missing, 1e-6),
           exact);
    } else {
      mark(step, weights(r), n, worth * (price.exact_value / price.middle_value), exact);
    }
  }
  const int both = ones(exact);
  for (std::size_t w = 0; w < 4; ++w) coded[w] &= ~exact[w];
  return ones(coded) * price.middle_value + both * price.exact_value;
}

/// Bytes beyond the scan that the rows' thresholds θ·expected would lead to, by the bounds of a block.
double coarse_bytes(const Step& step, const Prices& price, std::int64_t block, double theta) {
  Mask refine{};
  Mask exact{};
  const auto t = [&](int r) { return theta * row_of(step, r).expected; };
  for (int r = 0; r < step.rows; ++r) {
    const BlockRow& row = step.at(block, r);
    mark(step, step.bounds(block, r), block_keys, t(r) / row.psi, refine);
    const double cost = step.ladder() ? price.exact_key : price.exact_key + price.exact_value;
    mark(step, step.bounds(block, r), block_keys, t(r) * (cost / price.middle_key) / row.rho, exact);
  }
  double bytes = ones(refine) * price.middle_key;
  if (!step.ladder()) return bytes + ones(exact) * (price.exact_key + price.exact_value);
  bytes += ones(exact) * price.exact_key;
  // Bounds stand in for estimates: scaled by phi they are close.
  return bytes + value_bytes(
                     step, price, block, block_keys, [&](int r) { return step.bounds(block, r); },
                     [&](int r) { return t(r) / step.at(block, r).phi; });
}

double fine_bytes(const Step& step, const Prices& price, std::int64_t block, double theta) {
  Mask exact{};
  const int n = step.count[block];
  const auto t = [&](int r) { return theta * row_of(step, r).expected; };
  const double cost = step.ladder() ? price.exact_key : price.exact_key + price.exact_value;
  for (int r = 0; r < step.rows; ++r)
    mark(step, step.deltas(block, r), n, t(r) * (cost / price.middle_key), exact);
  if (!step.ladder()) return ones(exact) * cost;
  return ones(exact) * cost +
         value_bytes(
             step, price, block, n, [&](int r) { return step.estimates(block, r); }, t);
}

std::int64_t keys_above(const Step& step, const float* weights, int n, double t) {
  Mask mask{};
  mark(step, weights, n, t, mask);
  return ones(mask);
}

bool all_done(const Step& step, Walk StepRow::*walk) {
  for (int r = 0; r < step.rows; ++r)
    if (!(row_of(step, r).*walk).done()) return false;
  return true;
}

double sum_over_spans(const Step& step, int r, double SpanRow::*field) {
  double sum = 0;
  for (std::int64_t span = 0; span <= step.spans; ++span) sum += step.sums(span, r).*field;
  return sum;
}

float asked_sum(const Step& step, int r, std::array<float, 4> SpanRow::*field, int i) {
  float sum = 0.0F;
  for (std::int64_t span = 0; span < step.spans; ++span)
    sum += (step.sums(span, r).*field)[static_cast<std::size_t>(i)];
  return sum;
}

std::int64_t asked_reads(const Step& step, int i) {
  std::int64_t sum = 0;
  for (std::int64_t span = 0; span < step.spans; ++span)
    sum += step.reads[span].asked[static_cast<std::size_t>(i)];
  return sum;
}

bool by_keys(const Step& step) { return kind_of(step) == Kind::topk || kind_of(step) == Kind::power; }

}  // namespace

Prices::Prices(const Step& step) {
  const Shape& shape = step.call->shape;
  middle_key = static_cast<double>(step.layout->middle_key_bytes());
  middle_value = static_cast<double>(step.layout->middle_value_bytes());
  exact_key = static_cast<double>(shape.head_dim * size_of(shape.dtype));
  exact_value = static_cast<double>(shape.value_dim * size_of(shape.dtype));
}

// ---- After the scan ----

namespace {

void start_coarse(Step& step, const float* warm) {
  for (int r = 0; r < step.rows; ++r) {
    StepRow& row = row_of(step, r);
    row.expected = sum_over_spans(step, r, &SpanRow::expected);
    row.coarse = row.exact = row.value = std::numeric_limits<double>::infinity();
    const double share = step.ladder() ? planned_share : unrefined_share;
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
  for (std::int64_t block = span * span_blocks; block < step.span_end(span); ++block) {
    if (!step.looked_at(block)) continue;
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
  }
}

void answer_coarse(Step& step) {
  const double looked_at = share_looked_at(step);
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
      keys += ones(mask);
    }
    step.cap = keys * std::llround(price.exact_key + price.exact_value);
    step.counting = false;
    return;
  }
  const double theta = step.walk.first_no();
  for (int r = 0; r < step.rows; ++r) row_of(step, r).coarse = theta * row_of(step, r).expected;
  warm[0] = static_cast<float>(std::log2(theta));
}

void ask_all(Step& step, void (*ask)(Step&, std::int64_t)) {
  for (std::int64_t span = 0; span < step.spans; ++span) ask(step, span);
}

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

}  // namespace

void select_coarse(Step& step, float* warm) {
  step.every = walk_stride(step);
  walk_coarse(step, warm);
}

// ---- Before the scan ----

namespace {

/// What reading costs in time, in units of a key and value in dense attention: measured with 4 rows on AVX2
/// (docs/results/sieve.md); a wrong number costs time, never correctness.
constexpr double scan_cost = 0.27;
constexpr double middle_key_cost = 0.45;
constexpr double middle_value_cost = 0.45;
constexpr double exact_cost = 0.7;  // of a key or a value
constexpr double worth_it = 1;

}  // namespace

bool dense_is_cheaper(Step& step, const float* warm) {
  if (kind_of(step) != Kind::mass) return false;
  const Prices price(step);
  step.every = sample_stride(step.blocks);
  const double share = share_looked_at(step);
  for (std::int64_t span = 0; span < step.spans; ++span)
    for (int r = 0; r < step.rows; ++r) {
      double expected = 0;
      for (std::int64_t block = span * span_blocks; block < step.span_end(span); ++block)
        if (step.sampled(block))
          expected += static_cast<double>(step.at(block, r).phi) * step.at(block, r).sum;
      step.sums(span, r).expected = expected / share;
    }
  std::array<float, sieve_rows> found;
  std::copy_n(warm, step.rows, found.begin());
  walk_coarse(step, found.data());
  // Values: a second walk over the same bounds, scaled to estimates.
  const auto ratio = static_cast<float>(price.exact_value / price.middle_value);
  for (int r = 0; r < step.rows; ++r) {
    StepRow& row = row_of(step, r);
    row.value_walk.start(grid, row.coarse);
    while (!row.value_walk.done()) {
      std::array<float, 4> sums{};
      for (std::int64_t block = 0; block < step.blocks; ++block)
        if (step.sampled(block))
          step.call->kernels.sieve.tail_sums(step.bounds(block, r), block_keys, step.at(block, r).phi,
                                             step.at(block, r).phi * residual_share(step, block), ratio,
                                             row.value_walk.asked().data(), sums.data());
      row.value_walk.answer([&](int i) {
        return static_cast<double>(sums[static_cast<std::size_t>(i)]) <=
               value_share * row.budget.eps * row.expected * share;
      });
    }
  }
  double cost = 0;
  std::int64_t keys = 0;
  for (std::int64_t block = 0; block < step.blocks; ++block) {
    if (!step.sampled(block)) continue;
    Mask refined{}, exact{}, coded{}, whole{};
    for (int r = 0; r < step.rows; ++r) {
      const StepRow& row = row_of(step, r);
      const BlockRow& b = step.at(block, r);
      const float* bounds = step.bounds(block, r);
      const double value = row.value_walk.last_yes();
      mark(step, bounds, block_keys, row.coarse / b.psi, refined);
      mark(step, bounds, block_keys, row.coarse * (price.exact_key / price.middle_key) / b.rho, exact);
      mark(step, bounds, block_keys, value / b.phi, coded);
      mark(step, bounds, block_keys,
           value * ratio / std::max(static_cast<double>(residual_share(step, block)), 1e-6) / b.phi, whole);
    }
    for (std::size_t w = 0; w < 4; ++w) coded[w] &= refined[w];
    keys += block_keys;
    cost += middle_key_cost * ones(refined) + middle_value_cost * ones(coded) +
            exact_cost * (ones(exact) + ones(whole));
  }
  return scan_cost + cost / static_cast<double>(keys) > worth_it;
}

// ---- After refining ----

namespace {

void start_fine(Step& step) {
  const Prices price(step);
  std::int64_t spent = 0;
  for (std::int64_t span = 0; span < step.spans; ++span) spent += step.reads[span].middle_keys;
  step.cap -= std::llround(static_cast<double>(spent) * price.middle_key);
  step.walk.start(grid, row_of(step, 0).coarse / std::max(row_of(step, 0).expected, 0x1p-100));
  step.counting = by_keys(step) && !step.ladder();
  step.every = walk_stride(step);
  for (int r = 0; r < step.rows; ++r) {
    StepRow& row = row_of(step, r);
    const double used = sum_over_spans(step, r, &SpanRow::used);
    const double spread = sum_over_spans(step, r, &SpanRow::spread);
    double tail = 0;
    for (std::int64_t block = 0; block < step.blocks; ++block)
      tail += static_cast<double>(step.at(block, r).phi) * step.at(block, r).sum;
    // τ ≤ D/Ẑ with the ladder, D/(H + D) without: what the estimates promise, less a little for rounding.
    const double eps = row.budget.eps * 0.998;
    row.limit = eps * used - spread;
    const double value_limit = value_share * row.budget.eps * used;
    row.value_limit = std::max(value_limit - tail, value_limit / 4);
    row.walk.start(grid, row.coarse * price.exact_key / price.middle_key);
    row.value_walk.start(grid, row.coarse);
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

void ask_fine(Step& step, std::int64_t span) {
  const Prices price(step);
  SpanReads& reads = step.reads[span];
  reads.asked = {};
  for (int r = 0; r < step.rows; ++r) step.sums(span, r).asked = step.sums(span, r).asked_value = {};
  const auto ratio = static_cast<float>(price.exact_value / price.middle_value);
  for (std::int64_t block = span * span_blocks; block < step.span_end(span); ++block) {
    const int n = step.count[block];
    if (n == 0 || !step.looked_at(block)) continue;
    for (int r = 0; r < step.rows; ++r) {
      const StepRow& row = row_of(step, r);
      SpanRow& sums = step.sums(span, r);
      if (kind_of(step) == Kind::mass) {
        if (!row.walk.done())
          step.call->kernels.sieve.sums_below(step.deltas(block, r), n, row.walk.asked().data(),
                                              sums.asked.data());
        if (step.ladder() && !row.value_walk.done())
          step.call->kernels.sieve.tail_sums(step.estimates(block, r), n, 1.0F,
                                             step.layout->values ? residual_share(step, block) : 0.0F,
                                             ratio, row.value_walk.asked().data(), sums.asked_value.data());
      } else if (step.counting && !row.walk.done()) {
        const auto& t = row.walk.asked();
        for (std::size_t i = 0; i < 4; ++i)
          sums.asked[i] +=
              static_cast<float>(keys_above(step, step.deltas(block, r), n, static_cast<double>(t[i])));
      }
    }
    if (kind_of(step) != Kind::mass && !step.counting)
      for (std::size_t i = 0; i < 4; ++i)
        reads.asked[i] +=
            std::llround(fine_bytes(step, price, block, static_cast<double>(step.walk.asked()[i])));
  }
}

void answer_fine(Step& step) {
  const double looked_at = share_looked_at(step);
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
          return static_cast<double>(asked_sum(step, r, &SpanRow::asked_value, i)) <=
                 looked_at * row.value_limit;
        });
    }
  }
}

bool select_fine(Step& step) {
  start_fine(step);
  if (kind_of(step) == Kind::mass)
    for (int r = 0; r < step.rows; ++r)
      if (row_of(step, r).seen > 0 && !(row_of(step, r).limit > 0)) return false;
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
      if (step.layout->values) {
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
