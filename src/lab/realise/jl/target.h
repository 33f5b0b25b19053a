// What the jl construction aims at: the matrix B of (9) by its sparse rows, and the check of (23),
// (24) on one row of logits. Memory and time linear in the nonzeros.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include <tamis/lab/pattern.h>
#include <tamis/lab/witness.h>

namespace tamis::lab::realisation {

/// Rows that the construction takes at most: the counters of a draw's normals have 32 bits.
inline constexpr std::int64_t most_jl_rows = 65536;

struct JlTarget {
  std::int64_t n = 0;
  bool causal = false;
  double log_eps1 = 0;
  double eps2 = 0;
  std::vector<std::int64_t> start;  ///< n + 1 offsets into what follows
  std::vector<std::int64_t> column;
  std::vector<double> b;      ///< log(A_ij/(ε₁ α_i)) + ε₂, α_i the least nonzero of the row
  std::vector<float> b32;     ///< the same in f32
  std::vector<double> log_a;  ///< log A_ij

  /// A row as far as the odds of its failure depend on it.
  struct Row {
    double nonzeros = 0;
    double lowest =
        0;  ///< how many of its entries are the least, which is ε₂ − log ε₁ in every row
    double square = 0;  ///< ‖b_i‖²
    double others = 0;  ///< logits that must stay below
  };
  Row usual;  ///< of the rows in order of ‖b_i‖²·log(others), the one at three quarters

  /// How many logits of row i count.
  [[nodiscard]] std::int64_t seen(std::int64_t row) const { return causal ? row + 1 : n; }
  [[nodiscard]] Row row(std::int64_t row) const;
  [[nodiscard]] std::int64_t nonzeros(std::int64_t row) const {
    return start[row + 1] - start[row];
  }
};

/// Throws `input` for a pattern that is not square or, if causal is asked for, has entries above
/// the diagonal; `usage` for conditions outside their range, or weak ones: B needs ε₁ and ε₂.
JlTarget jl_target(const Pattern& pattern, const Conditions& conditions);

/// The least slack of a condition of (23), (24) on the n logits of row i: all hold if it is
/// positive. In f32; the logits of its nonzeros are overwritten.
float row_slack(const JlTarget& target, std::int64_t row, float* logits);
/// The same in f64; logits are left as they are.
double row_margin(const JlTarget& target, std::int64_t row, std::span<const double> logits);

}  // namespace tamis::lab::realisation
