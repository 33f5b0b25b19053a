// The conditions of witness.h on one row, decided: by enclosures of its logits where they separate,
// else exactly. For a row it is enough to look at extremes: the largest logit among zeros against
// the least among nonzeros, and the range of L − log A over nonzeros.
#pragma once

#include <limits>
#include <span>
#include <vector>

#include <tamis/lab/pattern.h>
#include <tamis/lab/witness.h>
#include "lab/numbers/exact.h"

namespace tamis::lab::verification {

/// What a row, or several, came to. The margin is positive if and only if all conditions hold.
struct RowVerdict {
  double margin = std::numeric_limits<double>::infinity();

  [[nodiscard]] bool holds() const { return margin > 0; }
};

/// Exact logits of the row in question, on demand.
class ExactLogits {
 public:
  virtual ~ExactLogits() = default;
  /// The largest among the zeros.
  [[nodiscard]] virtual numbers::Dyadic top_zero() const = 0;
  /// Of the s-th nonzero.
  [[nodiscard]] virtual numbers::Dyadic nonzero(std::size_t s) const = 0;
};

/// One row as it is judged.
struct RowLogits {
  bool has_zero = false;
  numbers::Interval top_zero;                   ///< contains the largest logit among the zeros
  std::span<const numbers::Interval> nonzeros;  ///< contain those of the nonzeros
  const ExactLogits& exact;
};

/// Conditions and logarithms that all rows share. Read-only, so safe to use from many threads.
class Judge {
 public:
  /// Encloses the logarithm of every distinct value of the pattern: a few microseconds and 24 bytes
  /// each.
  Judge(const Pattern& pattern, const Conditions& conditions, int threads);

  /// `values` are the row's nonzeros.
  [[nodiscard]] RowVerdict judge(const RowLogits& row, std::span<const double> values) const;

 private:
  [[nodiscard]] double zeros_margin(const RowLogits& row) const;
  [[nodiscard]] double exact_zeros_margin(const RowLogits& row) const;
  [[nodiscard]] double ratios_margin(const RowLogits& row, std::span<const double> values) const;
  [[nodiscard]] double exact_ratios_margin(const RowLogits& row,
                                           std::span<const double> values) const;
  [[nodiscard]] numbers::Interval log_of(double value) const;

  Conditions conditions_;
  numbers::Interval log_eps1_;
  std::vector<double> values_;           ///< distinct, ascending
  std::vector<numbers::Interval> logs_;  ///< of values_
};

}  // namespace tamis::lab::verification
