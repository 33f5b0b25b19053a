// Decides the conditions of witness.h on one row: by enclosures of its logits where these are
// narrow enough, else exactly. It is enough to look at extremes of the row: the largest logit among
// zeros, the smallest among nonzeros, and the range of L − log A over nonzeros.
#pragma once

#include <limits>
#include <span>
#include <vector>

#include <tamis/lab/pattern.h>
#include <tamis/lab/witness.h>
#include "lab/numbers/exact.h"

namespace tamis::lab::verification {

/// The verdict on a row, in one form of logits or in several. The margin is positive if and only if
/// all conditions hold.
struct RowVerdict {
  double margin = std::numeric_limits<double>::infinity();

  [[nodiscard]] bool holds() const { return margin > 0; }
};

/// The exact logits of one row, computed on demand.
class ExactLogits {
 public:
  virtual ~ExactLogits() = default;
  /// The largest logit among the zeros of the pattern.
  [[nodiscard]] virtual numbers::Dyadic top_zero() const = 0;
  /// The logit of the s-th nonzero.
  [[nodiscard]] virtual numbers::Dyadic nonzero(std::size_t s) const = 0;
};

/// The logits of one row, to be judged.
struct RowLogits {
  bool has_zero = false;
  numbers::Interval top_zero;                   ///< contains the largest logit among the zeros
  std::span<const numbers::Interval> nonzeros;  ///< contain the logits of the nonzeros
  const ExactLogits& exact;
};

/// Judges rows, with the conditions and logarithms that all rows share. Safe to use from many
/// threads, because judging changes nothing.
class Judge {
 public:
  /// Encloses the logarithm of every distinct value of the pattern. Each of them costs a few
  /// microseconds and 24 bytes.
  Judge(const Pattern& pattern, const Conditions& conditions, int threads);

  /// `values` are the values of the row's nonzeros.
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
  std::vector<numbers::Interval> logs_;  ///< logarithms of values_
};

}  // namespace tamis::lab::verification
