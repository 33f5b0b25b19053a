// After a scan of both meshes: which keys to read exactly, and which values to read. Every key has an
// estimate; all of a block are uncertain by its factor psi, so that blocks whose largest uncertainty is
// below a threshold need no second look.
#include <limits>

#include "sieve/select.h"
#include "sieve/select_parts.h"

namespace tamis {

namespace {

/// Points per octave: what a finer threshold would save is less than what its search takes.
constexpr int key_grid = 2;

/// Σ of uncertainties up to each of four thresholds, over the blocks that a stride picks.
void spread_below(const Step& step, int r, std::int64_t stride, const std::array<float, 4>& t,
                  std::array<double, 4>& sums) {
  sums = {};
  const float least = *std::min_element(t.begin(), t.end());
  for_each_picked(0, step.blocks, stride, [&](std::int64_t block) {
    const BlockRow& row = step.at(block, r);
    const float per_psi = 1.0F / row.psi;
    const auto psi = static_cast<double>(row.psi);
    std::array<float, 4> limits, below{};
    for (std::size_t i = 0; i < 4; ++i) limits[i] = t[i] * per_psi;
    if (row.most <= least * per_psi) {
      below.fill(row.sum);
    } else {
      step.call->kernels.sieve.sums_below(step.bounds(block, r), block_keys, limits.data(), below.data());
    }
    for (std::size_t i = 0; i < 4; ++i) sums[i] += psi * static_cast<double>(below[i]);
  });
}

}  // namespace

void walk_keys(Step& step, int r, std::int64_t stride, double limit, double near) {
  StepRow& row = row_of(step, r);
  double spread = 0;
  for_each_picked(0, step.blocks, stride, [&](std::int64_t block) {
    spread += static_cast<double>(step.at(block, r).psi) * step.at(block, r).sum;
  });
  row.exact = std::numeric_limits<double>::infinity();
  if (spread <= limit) return;
  row.walk.start(key_grid, near);
  std::array<double, 4> sums;
  while (!row.walk.done()) {
    spread_below(step, r, stride, row.walk.asked(), sums);
    row.walk.answer([&](int i) { return sums[static_cast<std::size_t>(i)] <= limit; });
  }
  row.exact = row.walk.last_yes();
}

void walk_values(Step& step, int r, std::int64_t stride, double limit, double near) {
  const Prices price(step);
  StepRow& row = row_of(step, r);
  row.value_walk.start(grid, near);
  while (!row.value_walk.done()) {
    std::array<float, 4> sums{};
    for_each_picked(0, step.blocks, stride, [&](std::int64_t block) {
      const float missing = coded_values(step, price) ? residual_share(step, block) : 0.0F;
      step.call->kernels.sieve.tail_sums(step.bounds(block, r), block_keys, 1.0F, missing,
                                         price.value_ratio(), row.value_walk.asked().data(), sums.data());
    });
    row.value_walk.answer(
        [&](int i) { return static_cast<double>(sums[static_cast<std::size_t>(i)]) <= limit; });
  }
  row.valued = row.value_walk.last_yes();
}

bool select_direct(Step& step, float* warm) {
  // Of values nothing is promised: a sample of blocks decides.
  const std::int64_t stride = walk_stride(step);
  const double share = share_looked_at(step.blocks, stride);
  for (int r = 0; r < step.rows; ++r) {
    StepRow& row = row_of(step, r);
    row.expected = sum_over_spans(step, r, &SpanRow::expected);
    const double unit = std::max(row.expected, 0x1p-100);
    // τ ≤ D/Ẑ, less a little for rounding and for estimates that exact keys replace.
    const double limit = 0.998 * row.budget.eps * row.expected - step.sums(step.spans, r).spread;
    if (row.seen > 0 && !(limit > 0)) return false;
    float& key = warm[r];
    float& value = warm[sieve_rows + r];
    const auto guess = [&](float before, double cold) {
      return unit * (std::isnan(before) ? cold : std::exp2(static_cast<double>(before)));
    };
    walk_keys(step, r, 1, limit, guess(key, 0.01 * row.budget.eps));
    if (row.exact > 0 && std::isfinite(row.exact)) key = static_cast<float>(std::log2(row.exact / unit));
    walk_values(step, r, stride, share * row.budget.eps * row.expected,
                guess(value, 0.01 * row.budget.eps));
    if (row.valued > 0) value = static_cast<float>(std::log2(row.valued / unit));
  }
  return true;
}

}  // namespace tamis
