// Heads, synthetic or from a trace, as rows of logits with values. Each row sees a number of keys
// of its own.
#pragma once

#include <cstdint>
#include <vector>

#include <tamis/attention.h>

#include "lab/experiments/regime.h"

namespace tamis::lab::experiments {

/// One query head.
struct HeadRows {
  Shape shape;                     ///< shape of one head, f32
  std::vector<float> q;            ///< queries × d
  std::vector<float> k;            ///< tokens × d
  std::vector<float> v;            ///< tokens × d_v
  std::vector<std::int64_t> seen;  ///< per query: how many of the first tokens it sees

  [[nodiscard]] std::int64_t tokens() const {
    return static_cast<std::int64_t>(k.size()) / shape.head_dim;
  }
  /// `seen` in the type that the functions on laws and conformal rules take.
  [[nodiscard]] std::vector<double> lengths() const { return {seen.begin(), seen.end()}; }
  /// The logits of one query over the keys it sees, in f64. Takes seen·d operations.
  [[nodiscard]] std::vector<double> logits(std::int64_t query) const;
  /// The k_eps of every query, computed by `row_figures`.
  [[nodiscard]] std::vector<double> k_eps(double eps, int threads) const;
};

/// Makes a synthetic head whose query i sees seen[i] tokens, with the R that `regime` gives for
/// that length. Queries are independent of each other and of the tokens, so rows whose lengths are
/// drawn independently are exchangeable.
HeadRows synthetic_rows(const Regime& regime, std::vector<std::int64_t> seen, std::uint64_t seed);
/// Draws `count` whole numbers, log-uniform from low to high.
std::vector<std::int64_t> log_uniform(std::int64_t count, double low, double high,
                                      std::uint64_t seed);

/// Returns the parameters of one point for every head of the trace, or nothing if there is no
/// trace. Throws `usage` if all queries of the trace see the same number of keys, or if there are
/// fewer than `fewest` queries.
std::vector<Json> head_points(const GridRequest& request, std::int64_t fewest);
/// Reads the head that such parameters name.
HeadRows trace_rows(const Json& parameters, const SweepTrace& trace);

}  // namespace tamis::lab::experiments
