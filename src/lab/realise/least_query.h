// Finds the shortest query that meets the conditions of one row. For fixed keys this is a small
// convex problem for each row, solved to f64 accuracy by the dual active-set method of Goldfarb and
// Idnani (1983). The Hessian is the identity here, and conditions are added one by one as they are
// found violated.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include <tamis/view.h>

namespace tamis::lab::realisation {

/// The problem for one row: minimise ½‖q‖² such that, with s_j = q·k_j,
///   s_a − s_b ≥ gap                             for a in support, b in others
///   s_a − s_b − (log_a − log_b) ≤ spread        for a, b in support
struct RowProblem {
  View<const double> keys;
  std::span<const std::int64_t> support;
  std::span<const double> log;  ///< log A over the support; empty: no condition of the second kind
  std::span<const std::int32_t> others;
  double gap = 0;
  double spread = 0;
};

/// A solver with its scratch memory; each thread needs its own. Allocates only when it is made.
class LeastQuery {
 public:
  explicit LeastQuery(std::int64_t dim);

  /// Writes the solution to q, or returns false if there is none or rounding hides it. A solution
  /// takes a few times dim steps; each costs 2·dim flops for each key of the row and 4·dim² for the
  /// active set.
  bool solve(const RowProblem& problem, std::span<double> q);

 private:
  struct Condition {
    std::int64_t plus = 0;  ///< the condition is s_plus − s_minus ≥ bound
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
  std::vector<double> basis_;  // active_ orthonormal columns, dim_ each
  // Upper triangular, column by column of dim_; normals = basis · triangle.
  std::vector<double> triangle_;
  std::vector<double> multiplier_;   // of the active conditions, then of the one being added
  std::vector<double> normal_;       // of the condition being added
  std::vector<double> direction_;    // its part outside the active normals
  std::vector<double> coefficient_;  // basisᵀ·normal
  std::vector<double> change_;       // triangle⁻¹·coefficient
};

}  // namespace tamis::lab::realisation
