// What thresholds would cost in bytes: marks of all rows together, counted by mesh.
#include "sieve/select_parts.h"

namespace tamis {

Prices::Prices(const Step& step) {
  const Shape& shape = step.call->shape;
  middle_key = static_cast<double>(step.layout->middle_key_bytes());
  middle_value = static_cast<double>(step.layout->middle_value_bytes());
  exact_key = static_cast<double>(shape.head_dim * size_of(shape.dtype));
  exact_value = static_cast<double>(shape.value_dim * size_of(shape.dtype));
}

namespace {

/// Bytes that values cost where `estimates(r)` are their weights and `t(r)` the key thresholds.
template <class Weights, class Threshold>
double value_bytes(const Step& step, const Prices& price, std::int64_t block, int n, Weights weights,
                   Threshold t) {
  Mask coded{};
  Mask exact{};
  const double missing = residual_share(step, block);
  for (int r = 0; r < step.rows; ++r) {
    const double worth = value_worth * t(r);
    if (coded_values(step, price)) {
      mark(step, weights(r), n, worth, coded);
      mark(step, weights(r), n, worth * (price.exact_value / price.middle_value) / std::max(missing, 1e-6),
           exact);
    } else {
      mark(step, weights(r), n, worth * (price.exact_value / price.middle_value), exact);
    }
  }
  const int both = bits_in(exact);
  for (std::size_t w = 0; w < 4; ++w) coded[w] &= ~exact[w];
  return bits_in(coded) * price.middle_value + both * price.exact_value;
}

}  // namespace

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
  double bytes = bits_in(refine) * price.middle_key;
  if (!step.ladder()) return bytes + bits_in(exact) * (price.exact_key + price.exact_value);
  bytes += bits_in(exact) * price.exact_key;
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
  if (!step.ladder()) return bits_in(exact) * cost;
  return bits_in(exact) * cost +
         value_bytes(
             step, price, block, n, [&](int r) { return step.estimates(block, r); }, t);
}

}  // namespace tamis
