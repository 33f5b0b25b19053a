// The oracle: exact attention of every row of a call, with a bound on the error of its own
// arithmetic. Independent of all engines. Takes O(rows·tokens·(d + d_v)) time and 8 bytes per
// row and key.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include <tamis/attention.h>

namespace tamis::test {

/// Exact attention of one row.
struct ExactRow {
  std::span<const double> weights;  ///< one per key seen, summing to 1
  std::span<const double> out;
  long double lse = 0;
  // Upper bounds on the error of these numbers, including that of comparing with them;
  // oracle.cpp derives them.
  double tau_slack = 0;    ///< in total variation
  double error_slack = 0;  ///< in the Euclidean norm
  double lse_slack = 0;
};

class Oracle {
 public:
  /// Takes the same arguments as `dense`.
  Oracle(const Shape& shape, View<const float> q, std::span<const KvPages> kv,
         std::span<const std::int64_t> seen);

  const Shape& shape() const { return shape_; }
  std::int64_t rows() const { return shape_.rows(); }
  /// Number of keys that a row sees.
  std::int64_t keys(std::int64_t row) const {
    return static_cast<std::int64_t>(rows_[static_cast<std::size_t>(row)].weights.size());
  }
  /// The largest number of keys that any row of the same KV head sees.
  std::int64_t most_keys(std::int64_t row) const;
  /// For each token of the row's KV head, whether its key or value has a number beyond 2⁵⁵, which
  /// is too large for codes.
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

/// ½Σ|w_j/Σw − p_j|, the total variation between these weights, which need not sum to 1, and the
/// exact ones. NaN unless all weights are finite, none is negative and one is positive.
double total_variation(std::span<const float> weights, const ExactRow& exact);
/// ‖out − exact‖₂, rounded down; NaN if `out` holds a NaN.
double distance(std::span<const float> out, const ExactRow& exact);

}  // namespace tamis::test
