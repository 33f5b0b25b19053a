// A witness consists of queries and keys, or of inputs and weights, and claims that their logits
// produce a pattern.
#pragma once

#include <cstdint>
#include <string>

#include <tamis/export.h>
#include <tamis/lab/tensor.h>

namespace tamis::lab {

/// The conditions under which logits L produce the pattern A. In every row i, and if causal for the
/// columns 0 … i only:
///   (23)  L_ij₁ − L_ij₂ < log ε₁                       where A_ij₁ = 0 and A_ij₂ ≠ 0
///   (24)  |L_ij₁ − L_ij₂ − log(A_ij₁/A_ij₂)| < ε₂      where both are nonzero
/// or, if weak (Definition 0.1), only L_ij₁ < L_ij₂ where A_ij₁ = 0 and A_ij₂ ≠ 0. The numbers
/// (23), (24) and 0.1 are those of the paper (Likhosherstov, Choromanski and Weller). A positive
/// factor on a row of A changes nothing, so a pattern need not be normalised.
struct Conditions {
  double eps1 = 0.1;    ///< 0 < ε₁ < 1
  double eps2 = 1;      ///< ε₂ > 0
  bool causal = false;  ///< the pattern must be square, without entries above the diagonal
  bool weak = false;    ///< the weak condition; ε₁ and ε₂ are ignored
};
/// Throws `usage` if ε₁ or ε₂ is out of range and the conditions are not weak.
TAMIS_API void check_conditions(const Conditions& conditions);

/// Logits have one of two forms: L = q·kᵀ, or the paper's L = x·w_q·w_kᵀ·xᵀ. A witness may hold
/// both forms. Tensors of a form that it does not hold are empty. Elements are f32 or f64 and must
/// be finite. d may be any number: method jl makes 2m columns of w_q and w_k, `decide` makes m.
struct Witness {
  Tensor q;             ///< [rows of the pattern, m]
  Tensor k;             ///< [columns of the pattern, m]
  Tensor x;             ///< [n, d_hid]
  Tensor w_q;           ///< [d_hid, d]
  Tensor w_k;           ///< [d_hid, d]
  Conditions made_for;  ///< the conditions that it claims to meet; `verify` does not use them
  Metadata made_by;     ///< method, seed and other notes of the program that made it

  [[nodiscard]] bool has_queries() const { return !q.bytes().empty(); }
  [[nodiscard]] bool has_inputs() const { return !x.bytes().empty(); }
};

/// Reads a safetensors file that holds the tensors above by name, and the conditions and the origin
/// in its metadata (docs/witness.md). Conditions that the file does not state are those of
/// Conditions{}. Throws `input` for tensors of other types, shapes that do not fit each other,
/// values that are not finite, or if neither form is complete.
TAMIS_API Witness read_witness(const std::string& path);
/// Writes the same format. Throws `usage` if made_by holds a key that the format defines itself.
TAMIS_API void write_witness(const std::string& path, const Witness& witness);

}  // namespace tamis::lab
