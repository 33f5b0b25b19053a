// The oracle: exact attention of every row of a call, with a bound on what the oracle's own
// arithmetic may be off by. Knows nothing of any engine. O(rows·tokens·(d + d_v)) time, 8 bytes per
// row and key.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include <tamis/attention.h>

namespace tamis::testing {

/// Exact attention of one row.
struct ExactRow {
  std::span<const double> weights;  ///< one per key seen, summing to 1
  std::span<const double> out;
  long double lse = 0;
  // How far these numbers may be from the truth, with what comparing with them adds; see
  // oracle.cpp.
  double tau_slack = 0;    ///< total variation
  double error_slack = 0;  ///< Euclidean
  double lse_slack = 0;
};

class Oracle {
 public:
  /// Arguments as for `dense`.
  Oracle(const Shape& shape, View<const float> q, std::span<const KvPages> kv,
         std::span<const std::int64_t> seen);

  const Shape& shape() const { return shape_; }
  std::int64_t rows() const { return shape_.rows(); }
  /// Keys that a row sees.
  std::int64_t keys(std::int64_t row) const {
    return static_cast<std::int64_t>(rows_[static_cast<std::size_t>(row)].weights.size());
  }
  /// The most keys that a row of the same KV head sees.
  std::int64_t most_keys(std::int64_t row) const;
  /// Per token of the row's KV head: does its key or value hold a number beyond 2⁵⁵, which no code
  /// holds?
  std::span<const char> huge(std::int64_t row) const {
    return huge_[static_cast<std::size_t>(row / (shape_.group() * shape_.queries))];
  }
  const ExactRow& operator[](std::int64_t row) const {
    return rows_[static_cast<std::size_t>(row)];
  }

 private:
  Shape shape_;
  std::vector<ExactRow> rows_;
  std::vector<double> weights_;
  std::vector<double> out_;
  std::vector<std::vector<char>> huge_;
};

/// ½Σ|w_j/Σw − p_j| for weights that share a factor; NaN unless all are finite, none is negative
/// and one is positive.
double total_variation(std::span<const float> weights, const ExactRow& exact);
/// ‖out − exact‖₂, rounded down; NaN if out holds one.
double distance(std::span<const float> out, const ExactRow& exact);

}  // namespace tamis::testing
