// Heads as rows of logits, each over keys of its own number, with values: synthetic ones and those
// of a trace.
#pragma once

#include <cstdint>
#include <vector>

#include <tamis/attention.h>

#include "lab/experiments/regime.h"

namespace tamis::lab::experiments {

/// One query head.
struct HeadRows {
  Shape shape;                     ///< of one head, f32
  std::vector<float> q;            ///< queries × d
  std::vector<float> k;            ///< tokens × d
  std::vector<float> v;            ///< tokens × d_v
  std::vector<std::int64_t> seen;  ///< per query: it sees the first so many tokens

  [[nodiscard]] std::int64_t tokens() const {
    return static_cast<std::int64_t>(k.size()) / shape.head_dim;
  }
  /// `seen`, as the functions on laws and conformal rules want it.
  [[nodiscard]] std::vector<double> lengths() const { return {seen.begin(), seen.end()}; }
  /// Of one query over the keys it sees, in f64: seen·d operations.
  [[nodiscard]] std::vector<double> logits(std::int64_t query) const;
  /// k_eps of every query, by `row_figures`.
  [[nodiscard]] std::vector<double> k_eps(double eps, int threads) const;
};

/// A head whose query i sees seen[i] tokens under the R of that length. Queries are independent of
/// each other and of the tokens, so rows whose lengths are drawn independently are exchangeable.
HeadRows synthetic_rows(const Regime& regime, std::vector<std::int64_t> seen, std::uint64_t seed);
/// `count` whole numbers, log-uniform from low to high.
std::vector<std::int64_t> log_uniform(std::int64_t count, double low, double high,
                                      std::uint64_t seed);

/// Parameters of one point for every head of a trace; none without one. Throws `usage` if all
/// queries of the trace see equally many keys, or if there are fewer than `fewest`.
std::vector<Json> head_points(const GridRequest& request, std::int64_t fewest);
/// The head that such parameters name.
HeadRows trace_rows(const Json& parameters, const SweepTrace& trace);

}  // namespace tamis::lab::experiments
