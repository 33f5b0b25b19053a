#include "lab/experiments/loss.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

namespace tamis::lab::experiments {
namespace {

/// The mass of a set of keys and its weighted sum of values, both in units of e^top. Each set has
/// its own top, so that a window far below the heaviest key still has an output.
struct Part {
  double top = -std::numeric_limits<double>::infinity();
  double mass = 0;
  std::vector<double> sum;
};

void merge(Part& into, const Part& from) {
  if (from.mass == 0) return;
  const double top = std::max(into.top, from.top);
  const double old = into.mass == 0 ? 0 : std::exp(into.top - top);
  const double fresh = std::exp(from.top - top);
  into.mass = into.mass * old + from.mass * fresh;
  for (std::size_t c = 0; c < into.sum.size(); ++c)
    into.sum[c] = into.sum[c] * old + from.sum[c] * fresh;
  into.top = top;
}

Part part_of(std::span<const double> logits, std::span<const float> values, std::size_t dim,
             std::span<const std::int64_t> keys) {
  Part part;
  part.sum.assign(dim, 0);
  for (const std::int64_t key : keys)
    part.top = std::max(part.top, logits[static_cast<std::size_t>(key)]);
  for (const std::int64_t key : keys) {
    const auto j = static_cast<std::size_t>(key);
    const double w = std::exp(logits[j] - part.top);
    part.mass += w;
    for (std::size_t c = 0; c < dim; ++c)
      part.sum[c] += w * static_cast<double>(values[j * dim + c]);
  }
  return part;
}

Loss loss_of(const Part& kept, const Part& tail) {
  Loss loss;
  if (tail.mass == 0) return loss;
  const double top = std::max(kept.top, tail.top);
  const double in = kept.mass * std::exp(kept.top - top);
  const double out = tail.mass * std::exp(tail.top - top);
  loss.tau = out / (in + out);
  loss.largest = std::exp(tail.top - top) / (in + out);
  // o − ô = tau·(mean of the tail − mean of the kept), which avoids cancellation where
  // tau is small.
  double difference = 0;
  double exact = 0;
  double other = 0;
  for (std::size_t c = 0; c < kept.sum.size(); ++c) {
    const double mean = kept.sum[c] / kept.mass;
    const double step = loss.tau * (tail.sum[c] / tail.mass - mean);
    difference += step * step;
    exact += (mean + step) * (mean + step);
    other += mean * mean;
  }
  if (difference > 0) loss.error = std::sqrt(difference / (exact > 0 ? exact : other));
  return loss;
}

}  // namespace

std::vector<std::int64_t> heaviest_first(std::span<const double> logits) {
  std::vector<std::int64_t> order(logits.size());
  std::iota(order.begin(), order.end(), std::int64_t{0});
  std::sort(order.begin(), order.end(), [&](std::int64_t a, std::int64_t b) {
    const double x = logits[static_cast<std::size_t>(a)];
    const double y = logits[static_cast<std::size_t>(b)];
    return x != y ? x > y : a < b;
  });
  return order;
}

std::vector<std::int64_t> latest_first(std::int64_t n, std::int64_t sinks) {
  std::vector<std::int64_t> order(static_cast<std::size_t>(n));
  const auto first = order.begin() + std::min(n, sinks);
  std::iota(order.begin(), first, std::int64_t{0});
  std::iota(std::make_reverse_iterator(order.end()), std::make_reverse_iterator(first),
            static_cast<std::int64_t>(first - order.begin()));
  return order;
}

std::vector<Loss> losses_of(std::span<const double> logits, std::span<const float> values,
                            std::int64_t value_dim, std::span<const std::int64_t> order,
                            std::span<const std::int64_t> kept) {
  const auto n = static_cast<std::int64_t>(order.size());
  const auto dim = static_cast<std::size_t>(value_dim);
  std::vector<std::int64_t> cuts;
  for (const std::int64_t k : kept) cuts.push_back(std::clamp<std::int64_t>(k, 1, n));
  cuts.push_back(n);
  std::sort(cuts.begin(), cuts.end());
  cuts.erase(std::unique(cuts.begin(), cuts.end()), cuts.end());

  // The keys between two cuts are summed once. Sums over heads are built from the front and sums
  // over tails from the back, so that none is a difference.
  std::vector<Part> parts;
  for (std::size_t i = 0; i < cuts.size(); ++i) {
    const std::int64_t from = i == 0 ? 0 : cuts[i - 1];
    parts.push_back(part_of(
        logits, values, dim,
        order.subspan(static_cast<std::size_t>(from), static_cast<std::size_t>(cuts[i] - from))));
  }
  std::vector<Part> tails(parts.size());
  tails.back().sum.assign(dim, 0);
  for (std::size_t i = parts.size() - 1; i > 0; --i) {
    tails[i - 1] = tails[i];
    merge(tails[i - 1], parts[i]);
  }
  std::vector<Loss> at_cut;
  Part head;
  head.sum.assign(dim, 0);
  for (std::size_t i = 0; i < parts.size(); ++i) {
    merge(head, parts[i]);
    at_cut.push_back(loss_of(head, tails[i]));
  }
  std::vector<Loss> losses;
  for (const std::int64_t k : kept) {
    const auto cut = std::lower_bound(cuts.begin(), cuts.end(), std::clamp<std::int64_t>(k, 1, n));
    losses.push_back(at_cut[static_cast<std::size_t>(cut - cuts.begin())]);
  }
  return losses;
}

}  // namespace tamis::lab::experiments
