// Checks one row of a form in each arithmetic. Computes its logits, and from them the extremes that
// decide the conditions. Costs keys·dim multiply-adds in f32 and in f64; exact arithmetic only for
// keys that can be the worst. Needs 12 bytes of scratch memory per key.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "lab/verify/conditions.h"
#include "lab/verify/form.h"
#include "lab/verify/logits.h"

namespace tamis::lab::verification {

/// A form with everything that checking its rows needs.
struct Prepared {
  explicit Prepared(Form form_);
  Prepared(const Prepared&) = delete;
  Prepared& operator=(const Prepared&) = delete;

  Form form;
  KeyBlocks<float> f32;
  KeyBlocks<double> f64;
  Bounds bounds;
};

struct CheckedRow {
  std::array<RowVerdict, 3> in;  ///< indexed by Arithmetic
  double max_logit = 0;          ///< max |L| in f64; infinite if a logit is not finite
};

/// Checks rows, and holds the scratch memory of one thread.
class RowScan {
 public:
  /// Checks row i over its first `seen` keys. `columns` are the nonzeros of the pattern among them,
  /// with their `values`.
  CheckedRow scan(const Prepared& prepared, const Judge& judge, std::int64_t i, std::int64_t seen,
                  std::span<const std::int64_t> columns, std::span<const double> values);

 private:
  /// The verdict on logits as they were computed, in f32 or f64.
  template <class T>
  RowVerdict judge_numbers(const Judge& judge, std::vector<T>& logits, std::int64_t seen,
                           std::span<const std::int64_t> columns, std::span<const double> values);
  /// Collects in rivals_ the zeros of the row whose exact logit can be the largest according to the
  /// error bounds of f64.
  void find_rivals(const Bounds& bounds, std::int64_t i, std::int64_t seen);
  RowVerdict judge_exactly(const Form& form, const Judge& judge, std::int64_t i,
                           std::span<const std::int64_t> columns, std::span<const double> values);

  std::vector<float> f32_;
  std::vector<double> f64_;
  std::vector<numbers::Interval> nonzeros_;
  std::vector<std::int64_t> rivals_;         ///< zeros that can have the largest exact logit
  std::vector<numbers::Interval> enclosed_;  ///< the logits of rivals_
};

}  // namespace tamis::lab::verification
