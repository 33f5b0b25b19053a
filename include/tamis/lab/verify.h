// Does a witness produce a pattern? Checked from the numbers alone, in three arithmetics.
#pragma once

#include <array>
#include <cstdint>

#include <tamis/export.h>
#include <tamis/lab/pattern.h>
#include <tamis/lab/witness.h>
#include <tamis/progress.h>

namespace tamis::lab {

/// How logits are computed from the numbers of the witness:
///   f32    rounded to f32 first where they are f64; products and sums in f32, in the order of the
///   columns f64    the same in f64 exact  the numbers as they are, products and sums without
///   rounding
/// The conditions are then decided without further rounding. In f32 and f64 a row with a logit that
/// is not finite fails, its margin −∞.
enum class Arithmetic { f32, f64, exact };
TAMIS_API const char* name_of(Arithmetic arithmetic);

/// The verdict in one arithmetic, over every row and over both forms where the witness holds both.
struct Checked {
  bool holds = false;
  std::int64_t failing_rows = 0;
  std::int64_t worst_row = -1;  ///< the row of the least margin; −1 if no row has a condition
  /// The least slack of a condition: how much less than log ε₁ or ε₂ (weak: 0) its left side is.
  /// Positive if and only if the conditions hold, infinite if there are none. Never further from
  /// zero than the true one, and within a billionth of it or a few units in the last place of ε₂,
  /// log ε₁ and log A.
  double margin = 0;
};

struct Verification {
  std::array<Checked, 3> in;  ///< by Arithmetic
  double norm_product = 0;    ///< max‖q_i‖ · max‖k_j‖, in f64; the larger of two forms
  double max_logit = 0;  ///< max |L_ij| over the pairs that are seen, in f64; infinite beyond it

  [[nodiscard]] const Checked& operator[](Arithmetic a) const {
    return in[static_cast<std::size_t>(a)];
  }
  /// In exact arithmetic, which is what a claim means.
  [[nodiscard]] bool holds() const { return (*this)[Arithmetic::exact].holds; }
};

/// `conditions` are the caller's: those that the witness says it was made for may be such that
/// anything meets them. rows·columns·m multiply-adds in f32 and in f64, and exact arithmetic where
/// f64 with its error bound does not decide. Memory: 24 bytes per element of q and k (x, w_q and
/// w_k are multiplied out), 12 per column and thread, 24 per distinct value of the pattern. Throws
/// `input` if the sizes of pattern and witness differ, a causal check has entries above the
/// diagonal, or either is not what its header promises; `usage` for conditions outside their range;
/// `cancelled`. `threads` = 0 takes every core; the result does not depend on it. Concurrent calls
/// are safe.
TAMIS_API Verification verify(const Pattern& pattern, const Witness& witness,
                              const Conditions& conditions, int threads = 0,
                              const ProgressCallback& progress = {});

}  // namespace tamis::lab
