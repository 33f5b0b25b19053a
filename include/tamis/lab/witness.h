// A witness: queries and keys, or inputs and weights, that are said to produce a pattern.
#pragma once

#include <cstdint>
#include <string>

#include <tamis/export.h>
#include <tamis/lab/tensor.h>

namespace tamis::lab {

/// What logits must do to count as the pattern A, for every row i (j ≤ i only, if causal):
///   (23)  L_ij₁ − L_ij₂ < log ε₁                       where A_ij₁ = 0 and A_ij₂ ≠ 0
///   (24)  |L_ij₁ − L_ij₂ − log(A_ij₁/A_ij₂)| < ε₂      where both are nonzero
/// or, if weak (Definition 0.1), only L_ij₁ < L_ij₂ where A_ij₁ = 0 and A_ij₂ ≠ 0. Rows of A matter
/// up to a positive factor, so a pattern need not be normalised.
struct Conditions {
  double eps1 = 0.1;    ///< 0 < ε₁ < 1
  double eps2 = 1;      ///< ε₂ > 0
  bool causal = false;  ///< the pattern must be square, without entries above the diagonal
  bool weak = false;    ///< ε₁ and ε₂ are not looked at
};
/// Throws `usage` unless the values are as said above.
TAMIS_API void check_conditions(const Conditions& conditions);

/// Logits are L = q·kᵀ, or L = x·w_q·w_kᵀ·xᵀ, the paper's form; a witness may hold both. Tensors
/// that it does not hold are empty. f32 or f64, all finite.
struct Witness {
  Tensor q;             ///< [rows of the pattern, m]
  Tensor k;             ///< [its columns, m]
  Tensor x;             ///< [n, d_hid]
  Tensor w_q;           ///< [d_hid, d]
  Tensor w_k;           ///< [d_hid, d]
  Conditions made_for;  ///< the conditions it was made for: a claim, which nothing checks by itself
  Metadata made_by;     ///< method, seed and whatever else its maker wants known

  [[nodiscard]] bool has_queries() const { return !q.bytes().empty(); }
  [[nodiscard]] bool has_inputs() const { return !x.bytes().empty(); }
};

/// Safetensors with the tensors above by name; conditions and origin in the metadata. Throws
/// `input` for tensors of other types, of shapes that do not fit each other, values that are not
/// finite, or neither form. A file without conditions has those of Conditions{}.
TAMIS_API Witness read_witness(const std::string& path);
TAMIS_API void write_witness(const std::string& path, const Witness& witness);

}  // namespace tamis::lab
