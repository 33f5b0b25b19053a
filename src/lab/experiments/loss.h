// What a row loses when only some of its keys are kept, in f64: every rule for which keys to keep
// is an order of the keys and how many of them. One pass over the row's values serves all numbers
// of keys of one order.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace tamis::lab::experiments {

/// Three norms of one loss; weights kept are renormalised.
struct Dropped {
  double tau = 0;    ///< dropped mass: the total variation distance between the two rows of weights
  double error = 0;  ///< ‖o − ô‖₂/‖o‖₂, o the exact output and ô the other; where o = 0, over ‖ô‖₂
  double largest =
      0;  ///< the largest weight dropped: below 1/k whatever the row, if the heaviest k are kept
};

/// Keys by descending logit; of equal ones the earlier first.
std::vector<std::int64_t> heaviest_first(std::span<const double> logits);
/// The first `sinks` keys, then the others from the last one back: its first k are a window with
/// sinks.
std::vector<std::int64_t> latest_first(std::int64_t n, std::int64_t sinks);

/// For every entry of `kept`, what keeping that many keys of `order`, at least 1, loses. `values`
/// holds logits.size() rows of value_dim or more. n·value_dim + |kept|·value_dim operations.
std::vector<Dropped> dropped(std::span<const double> logits, std::span<const float> values,
                             std::int64_t value_dim, std::span<const std::int64_t> order,
                             std::span<const std::int64_t> kept);

}  // namespace tamis::lab::experiments
