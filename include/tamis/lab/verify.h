// Checks whether a witness produces a pattern, from its numbers alone, in f32, f64 and exactly.
#pragma once

#include <array>
#include <cstdint>

#include <tamis/export.h>
#include <tamis/lab/pattern.h>
#include <tamis/lab/witness.h>
#include <tamis/progress.h>

namespace tamis::lab {

/// The arithmetic in which logits are computed from the numbers of the witness:
///   f32    numbers in f64 are rounded to f32 first; products and sums are in f32, in column order
///   f64    the same in f64
///   exact  products and sums of the numbers as they are, without rounding
/// The conditions on these logits are then decided without further rounding. In f32 and f64 a row
/// with a logit that is not finite fails, and its margin is −∞.
enum class Arithmetic { f32, f64, exact };
TAMIS_API const char* name_of(Arithmetic arithmetic);

/// The verdict in one arithmetic, over all rows and over all forms that the witness holds.
struct Checked {
  bool holds = false;
  std::int64_t failing_rows = 0;
  std::int64_t worst_row = -1;  ///< the row of the smallest margin; −1 if no row has a condition
  /// The smallest slack of a condition. The slack is the right-hand side, log ε₁ or ε₂ (0 if weak),
  /// minus the left-hand side. The margin is positive if and only if all conditions hold, and
  /// infinite if there are none. It is never further from zero than the true value, and differs
  /// from it by at most a billionth of it or a few units in the last place of ε₂, log ε₁ and log A.
  double margin = 0;
};

struct Verification {
  std::array<Checked, 3> in;  ///< indexed by Arithmetic
  double norm_product = 0;  ///< max‖q_i‖ · max‖k_j‖, in f64; of two forms, the larger product
  double max_logit = 0;  ///< max |L_ij| in f64, over j ≤ i only if causal; infinite on overflow

  [[nodiscard]] const Checked& operator[](Arithmetic a) const {
    return in[static_cast<std::size_t>(a)];
  }
  /// The verdict in exact arithmetic, in which the claim of a witness is meant.
  [[nodiscard]] bool holds() const { return (*this)[Arithmetic::exact].holds; }
};

/// Checks a witness against a pattern. The caller gives the conditions, because those that a
/// witness claims to be made for may be so weak that any numbers meet them. Time: rows·columns·m
/// multiply-adds in f32 and as many in f64; exact arithmetic is used where f64 with its error bound
/// does not decide. Memory, for each form that the witness holds: 12 bytes per element of q and 24
/// per element of k, or 20 and 32 if they are the products x·w_q and x·w_k, and then 16 bytes per
/// element of x and per nonzero of the weights; 12 bytes per column and thread, and 24 bytes per
/// distinct value of the pattern. Throws `input` if the sizes of pattern and witness differ, if the
/// check is causal and the pattern has entries above the diagonal, or if either breaks the rules of
/// its header; `usage` for conditions outside their range; `cancelled` if `progress`, which counts
/// rows, asks to stop. `threads` = 0 takes every core; the result does not depend on it. Concurrent
/// calls are safe.
TAMIS_API Verification verify(const Pattern& pattern, const Witness& witness,
                              const Conditions& conditions, int threads = 0,
                              const ProgressCallback& progress = {});

}  // namespace tamis::lab
