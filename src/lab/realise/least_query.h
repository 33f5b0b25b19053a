// For fixed keys every row is a small convex problem of its own: the shortest query that meets the
// row's conditions. Solved to f64 accuracy by the dual active-set method of Goldfarb and Idnani
// (1983), whose Hessian is the identity here, with conditions found one by one as they are
// violated.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include <tamis/view.h>

namespace tamis::lab::realisation {

/// min ½‖q‖² such that, with s_j = q·k_j,
///   s_a − s_b ≥ gap                             for a in support, b in others
///   s_a − s_b − (log_a − log_b) ≤ spread        for a, b in support
struct RowProblem {
  View<const double> keys;
  std::span<const std::int64_t> support;
  std::span<const double> log;  ///< of the support's values; empty: no condition of the second kind
  std::span<const std::int32_t> others;
  double gap = 0;
  double spread = 0;
};

/// Scratch and solver; one per thread. Allocates when it first sees a dimension.
class LeastQuery {
 public:
  explicit LeastQuery(std::int64_t dim);

  /// Writes the solution to q, or returns false if there is none (or rounding hides it). Each step
  /// costs 2·dim flops for each key of the row and 4·dim² for the active set; there are a few times
  /// dim steps.
  bool solve(const RowProblem& problem, std::span<double> q);

 private:
  struct Condition {
    std::int64_t plus = 0;  ///< s_plus − s_minus ≥ bound
    std::int64_t minus = 0;
    double bound = 0;
    double violation = 0;  ///< as a share of gap or spread
  };
  [[nodiscard]] Condition worst(const RowProblem& problem, std::span<const double> q);
  bool add(const RowProblem& problem, const Condition& condition, std::span<double> q);
  void project();
  void append();
  void drop(std::int64_t place);

  std::int64_t dim_;
  std::int64_t active_ = 0;
  std::vector<double> basis_;        // active_ orthonormal columns, dim_ each
  std::vector<double> triangle_;     // normals = basis · triangle, upper, column by column of dim_
  std::vector<double> multiplier_;   // one more than active_: that of the condition being added
  std::vector<double> normal_;       // of the condition being added
  std::vector<double> direction_;    // its part outside the active normals
  std::vector<double> coefficient_;  // basisᵀ·normal
  std::vector<double> change_;       // triangle⁻¹·coefficient
  std::vector<double> logits_;
};

}  // namespace tamis::lab::realisation
