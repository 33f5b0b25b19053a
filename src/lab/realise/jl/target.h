// The target of the jl construction: the matrix B of (9) by its sparse rows, and the check of (23),
// (24) on one row of logits. Memory and time are linear in the nonzeros.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include <tamis/lab/pattern.h>
#include <tamis/lab/witness.h>

namespace tamis::lab::realisation {

/// The most rows that the construction takes, because the counters of a draw's normals have 32
/// bits.
inline constexpr std::int64_t most_jl_rows = 65536;

struct JlTarget {
  std::int64_t n = 0;
  bool causal = false;
  double log_eps1 = 0;
  double eps2 = 0;
  std::vector<std::int64_t> start;  ///< n + 1 offsets into the following vectors
  std::vector<std::int64_t> column;
  std::vector<double> b;  ///< log(A_ij/(ε₁·α_i)) + ε₂, where α_i is the least nonzero of row i
  std::vector<float> b32;     ///< b in f32
  std::vector<double> log_a;  ///< log A_ij

  /// The properties of a row on which the probability of its failure depends.
  struct Row {
    double nonzeros = 0;
    /// Number of entries of b_i equal to the least one, which is ε₂ − log ε₁ in every row.
    double lowest = 0;
    double square = 0;  ///< ‖b_i‖²
    double others = 0;  ///< number of logits that must stay below the nonzeros'
  };
  Row usual;  ///< the row at three quarters in the order of ‖b_i‖²·log(1 + others)

  /// The number of logits of a row to which the conditions apply.
  [[nodiscard]] std::int64_t seen(std::int64_t row) const { return causal ? row + 1 : n; }
  [[nodiscard]] Row row(std::int64_t row) const;
  [[nodiscard]] std::int64_t nonzeros(std::int64_t row) const {
    return start[row + 1] - start[row];
  }
};

/// Makes the target. Throws `input` for a pattern that is not square, has more than most_jl_rows
/// rows or, if causal, has entries above the diagonal; `usage` for conditions that are outside
/// their range or weak, because B needs ε₁ and ε₂.
JlTarget jl_target(const Pattern& pattern, const Conditions& conditions);

/// The least slack of (23), (24) on the n logits of a row: all conditions hold if it is positive.
/// It is computed in f32 and overwrites the logits of the row's nonzeros.
float row_slack(const JlTarget& target, std::int64_t row, float* logits);
/// The same in f64; leaves the logits as they are.
double row_margin(const JlTarget& target, std::int64_t row, std::span<const double> logits);

}  // namespace tamis::lab::realisation
