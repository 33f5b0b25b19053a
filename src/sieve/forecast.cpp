// Before the scan: would dense attention be sooner, or read less? Costs a few passes over the bounds of
// eight blocks.
#include <algorithm>
#include <cmath>

#include "sieve/select.h"
#include "sieve/select_parts.h"

namespace tamis {
namespace {

/// What reading costs, in units of a key and value in dense attention.
struct Costs {
  double scan, middle_key, middle_value, exact_key, exact_value;
};

/// In time: measured with 4 rows on AVX2 at head sizes 64 and 128. What a key costs besides its codes does
/// not shrink with the head size. A wrong number costs time, never correctness.
Costs time_costs(const Step& step) {
  const double x =
      2.0 / static_cast<double>(std::max<std::int64_t>(64, step.layout->d + step.layout->value_d));
  return {0.3 + 14 * x, 0.7 + 40 * x, 0.8 + 45 * x, 1 + 100 * x, 1 + 100 * x};
}

/// Of keys and values, averaged, over all rows.
double channels_of(const Step& step) {
  return 0.5 * static_cast<double>(step.rows * (step.layout->d + step.layout->value_d));
}
/// Dense attention multiplies or, with few rows, waits for memory.
double dense_nanoseconds(const Step& step) {
  const Shape& shape = step.call->shape;
  const auto bytes = static_cast<double>((shape.head_dim + shape.value_dim) * size_of(shape.dtype));
  return std::max(2.5 + 0.048 * channels_of(step), bytes / 23);
}

/// The same for a direct scan: nanoseconds per key on one core of Zen 4, by those of dense attention, both
/// with a part that grows with the channels of all rows. Listing what is read is in the cost of the scan.
Costs direct_costs(const Step& step) {
  const double channels = channels_of(step);
  const double dense = dense_nanoseconds(step);
  const double value = (10 + 0.022 * channels) / dense;
  return {(5.2 + static_cast<double>(step.call->kernels.sieve.scan_cost) * channels) / dense, 0, value,
          2 * value, 2 * value};
}
/// Of a sample and what it is asked, by the time of dense attention.
double forecast_cost(const Step& step) {
  return (4000 + 2500 * step.rows) /
         (static_cast<double>(std::max<std::int64_t>(1, step.keys)) * dense_nanoseconds(step));
}

/// Sparse reading has to look sooner by this factor: a sample sees fewer of the keys that count than there
/// are, and to be slower than dense attention is worse than to miss a little speed.
constexpr double sooner = 0.75;

Costs byte_costs(const Step& step) {
  const Prices price(step);
  const double key = price.exact_key + price.exact_value;
  return {static_cast<double>(step.layout->coarse_bytes) / block_keys / key, price.middle_key / key,
          price.middle_value / key, price.exact_key / key, price.exact_value / key};
}

/// Σ estimates of all blocks, from the sampled ones. Few blocks often hold most of the sum and are missed
/// by the sample: if the blocks' sums look log-normal, its mean is larger than theirs.
double expected_sum(const Step& step, int r) {
  double sum = 0, logs = 0, squares = 0, n = 0;
  for_each_picked(0, step.blocks, step.every, [&](std::int64_t block) {
    const double s = static_cast<double>(step.at(block, r).phi) * step.at(block, r).sum;
    const double log = std::log(std::max(s, 0x1p-100));
    sum += s;
    logs += log;
    squares += log * log;
    ++n;
  });
  const double mean = logs / n;
  const double variance = n > 1 ? std::clamp((squares - n * mean * mean) / (n - 1), 0.0, 12.0) : 0.0;
  return static_cast<double>(step.blocks) * std::max(sum / n, std::exp(mean + variance / 2));
}

Mask refined_keys_of(const Step& step, std::int64_t block) {
  Mask refined{};
  for (int r = 0; r < step.rows; ++r)
    mark(step, step.bounds(block, r), block_keys, coarse_threshold(step, block, r), refined);
  return refined;
}

/// Thresholds of values, from the bounds of the sampled blocks scaled to estimates.
void walk_sampled_values(Step& step, const Prices& price, double share) {
  for (int r = 0; r < step.rows; ++r) {
    StepRow& row = row_of(step, r);
    row.value_walk.start(grid, row.coarse);
    while (!row.value_walk.done()) {
      std::array<float, 4> sums{};
      for_each_picked(0, step.blocks, step.every, [&](std::int64_t block) {
        const float phi = step.at(block, r).phi;
        step.call->kernels.sieve.tail_sums(step.bounds(block, r), block_keys, phi,
                                           phi * residual_share(step, block), price.value_ratio(),
                                           row.value_walk.asked().data(), sums.data());
      });
      row.value_walk.answer([&](int i) {
        return static_cast<double>(sums[static_cast<std::size_t>(i)]) <=
               row.budget.eps * row.expected * share;
      });
    }
  }
}

/// What a block costs after refining.
double later_cost(const Step& step, const Prices& price, const Costs& unit, std::int64_t block) {
  Mask exact{}, coded{}, whole{};
  for (int r = 0; r < step.rows; ++r) {
    const StepRow& row = row_of(step, r);
    const BlockRow& b = step.at(block, r);
    const float* bounds = step.bounds(block, r);
    const double value = row.value_walk.last_yes();
    const double missing = std::max(static_cast<double>(residual_share(step, block)), 1e-6);
    mark(step, bounds, block_keys, row.coarse * (price.exact_key / price.middle_key) / b.rho, exact);
    mark(step, bounds, block_keys, value / b.phi, coded);
    mark(step, bounds, block_keys, value * static_cast<double>(price.value_ratio()) / missing / b.phi,
         whole);
  }
  const Mask refined = refined_keys_of(step, block);
  for (std::size_t w = 0; w < 4; ++w) coded[w] &= refined[w];
  return unit.middle_value * bits_in(coded) + unit.exact_key * bits_in(exact) +
         unit.exact_value * bits_in(whole);
}

/// The same for a direct scan: values and keys by the thresholds that the sampled blocks lead to. Most of
/// the cost are values: where they alone are too many, keys are not looked at.
bool dense_is_sooner(Step& step, float* warm) {
  const Prices price(step);
  const Costs unit = direct_costs(step);
  const double share = share_looked_at(step.blocks, step.every);
  const double limit =
      (sooner - unit.scan) * static_cast<double>(blocks_picked(step.blocks, step.every) * block_keys);
  std::array<float, 2 * sieve_rows> found;
  std::copy_n(warm, found.size(), found.begin());
  const auto near = [&](int r, std::size_t which) {
    const StepRow& row = row_of(step, r);
    const float before = found[which * sieve_rows + static_cast<std::size_t>(r)];
    return row.expected *
           (std::isnan(before) ? 0.01 * row.budget.eps : std::exp2(static_cast<double>(before)));
  };
  const auto keep = [&](int r, std::size_t which, double t) {
    if (t > 0 && std::isfinite(t))
      found[which * sieve_rows + static_cast<std::size_t>(r)] =
          static_cast<float>(std::log2(t / row_of(step, r).expected));
  };
  for (int r = 0; r < step.rows; ++r) {
    StepRow& row = row_of(step, r);
    row.expected = std::max(expected_sum(step, r) + step.sums(step.spans, r).expected, 0x1p-100);
    walk_values(step, r, step.every, share * row.budget.eps * row.expected, near(r, 1));
    keep(r, 1, row.valued);
  }
  double cost = 0;
  for_each_picked(0, step.blocks, step.every, [&](std::int64_t block) {
    Mask valued{}, whole{};
    const double missing = std::max(static_cast<double>(residual_share(step, block)), 1e-6);
    const bool codes = coded_values(step, price);
    for (int r = 0; r < step.rows; ++r) {
      const double t = row_of(step, r).valued;
      mark(step, step.bounds(block, r), block_keys, t, valued);
      mark(step, step.bounds(block, r), block_keys,
           codes ? t * static_cast<double>(price.value_ratio()) / missing : t, whole);
    }
    cost += unit.middle_value * (bits_in(valued) - bits_in(whole)) + unit.exact_value * bits_in(whole);
  });
  if (cost <= limit) {
    for (int r = 0; r < step.rows; ++r) {
      StepRow& row = row_of(step, r);
      walk_keys(step, r, step.every, share * row.budget.eps * row.expected, near(r, 0));
      keep(r, 0, row.exact);
    }
    for_each_picked(0, step.blocks, step.every, [&](std::int64_t block) {
      Mask exact{};
      for (int r = 0; r < step.rows; ++r)
        mark(step, step.bounds(block, r), block_keys,
             row_of(step, r).exact / static_cast<double>(step.at(block, r).psi), exact);
      cost += unit.exact_key * bits_in(exact);
    });
  }
  if (cost <= limit) return false;
  std::ranges::copy(found, warm);  // the scan, which would find better ones, does not run
  return true;
}

}  // namespace

bool never_sooner(const Step& step) {
  const double forecast = forecast_cost(step);
  return forecast > 0.075 || direct_costs(step).scan + forecast + 0.05 > sooner;
}

bool dense_is_cheaper(Step& step, float* warm) {
  if (kind_of(step) != Kind::mass) return false;
  const Prices price(step);
  step.every = sample_stride(step.blocks);
  if (step.direct) return dense_is_sooner(step, warm);
  const std::int64_t looked_at = blocks_picked(step.blocks, step.every);
  const double share = share_looked_at(step.blocks, step.every);
  for (std::int64_t span = 0; span < step.spans; ++span)
    for (int r = 0; r < step.rows; ++r) step.sums(span, r).expected = 0;
  for (int r = 0; r < step.rows; ++r) step.sums(0, r).expected = expected_sum(step, r);
  std::array<float, sieve_rows> found;
  std::copy_n(warm, step.rows, found.begin());
  walk_coarse(step, found.data());
  const bool by_bytes = step.options->fewest_bytes;
  const Costs unit = by_bytes ? byte_costs(step) : time_costs(step);
  const double limit = ((by_bytes ? 1 : sooner) - unit.scan) * static_cast<double>(looked_at * block_keys);

  double cost = 0;
  for_each_picked(0, step.blocks, step.every, [&](std::int64_t block) {
    cost += unit.middle_key * bits_in(refined_keys_of(step, block));
  });
  if (cost <= limit) {
    walk_sampled_values(step, price, share);
    for_each_picked(0, step.blocks, step.every,
                    [&](std::int64_t block) { cost += later_cost(step, price, unit, block); });
  }
  if (cost <= limit) return false;
  std::copy_n(found.begin(), step.rows, warm);  // the scan, which would find better ones, does not run
  return true;
}

}  // namespace tamis
