// Computes in f64 what a row loses when only some of its keys are kept. A rule for which keys to
// keep is an order of the keys and the number of keys to keep. One pass over the row's values
// serves all numbers of keys of one order.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace tamis::lab::experiments {

/// The loss in three measures; the kept weights are renormalised.
struct Loss {
  /// Dropped mass, which is the total variation distance between the two rows of weights.
  double tau = 0;
  /// ‖o − ô‖₂/‖o‖₂, where o is the exact output and ô the other; if o = 0, divided
  /// by ‖ô‖₂ instead.
  double error = 0;
  /// The largest weight dropped. It is below 1/k for every row if the heaviest k are kept.
  double largest = 0;
};

/// Returns the keys by descending logit; of equal ones the earlier comes first.
std::vector<std::int64_t> heaviest_first(std::span<const double> logits);
/// Returns the first `sinks` keys, then the others from the last one backwards. The first k keys
/// of this order are a window with sinks.
std::vector<std::int64_t> latest_first(std::int64_t n, std::int64_t sinks);

/// Returns, for every entry of `kept`, the loss when that many keys of `order`, at least 1,
/// are kept. `values` must hold logits.size() rows of value_dim or more. Takes n·value_dim
/// + |kept|·value_dim operations.
std::vector<Loss> losses_of(std::span<const double> logits, std::span<const float> values,
                            std::int64_t value_dim, std::span<const std::int64_t> order,
                            std::span<const std::int64_t> kept);

}  // namespace tamis::lab::experiments
