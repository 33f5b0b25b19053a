// Split-conformal budgets: the smallest rule k = alpha·n^C, or window, that kept mass 1 − eps on
// all but a share delta of rows it was calibrated on, and how it did on rows it never saw.
// docs/laws.md says what is promised and what is not.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include <tamis/export.h>

namespace tamis::lab {

/// What a row is used for; disjoint, so that exponent, calibration and test share no row.
enum class Part : std::uint8_t { fit, calibration, held_out };

/// Deals rows, ordered by n, to the three parts in blocks of `block` neighbours; every three blocks
/// in a row hold one of each part, in an order drawn from the seed. All parts thus see all lengths,
/// and a held-out row seldom has a calibration row for a neighbour. block 0 takes max(1, min(8,
/// rows/12)). Thread-safe; O(rows log rows).
[[nodiscard]] TAMIS_API std::vector<Part> split_rows(std::span<const double> n, std::int64_t block,
                                                     std::uint64_t seed);

/// A share of rows with its exact (Clopper–Pearson) interval, for independent rows.
struct Coverage {
  std::int64_t rows = 0;
  std::int64_t covered = 0;
  double rate = 0;  ///< covered / rows; NaN without rows
  double low = 0;
  double high = 1;
};
[[nodiscard]] TAMIS_API Coverage coverage(std::int64_t covered, std::int64_t rows,
                                          double confidence = 0.95);

/// A calibrated rule: read the heaviest min(n, ⌈alpha·n^C⌉) keys, or the last min(n, alpha) keys
/// and the first `sinks`.
struct Conformal {
  double alpha = 0;     ///< the rank-th smallest score of the calibration rows; infinite if rank >
                        ///< rows: read everything
  double C = 0;         ///< 0 for a fixed number of keys and for a window
  bool window = false;  ///< the last alpha keys and the sinks, rather than the heaviest
  std::int64_t sinks = 0;
  std::int64_t rows = 0;  ///< calibration rows, m
  std::int64_t rank = 0;  ///< ⌈(1 − delta)(m + 1)⌉, at least 1
  double mean_keys = 0;   ///< keys read per held-out row; NaN without held-out rows
  Coverage held_out;      ///< held-out rows that kept mass 1 − eps

  /// Whether there were calibration rows enough for a finite rule: m ≥ 1/delta − 1.
  [[nodiscard]] bool finite() const { return rank <= rows; }
  /// Keys that the rule reads of n.
  [[nodiscard]] TAMIS_API double keys(double n) const;
};

/// Exponent of alpha·n^C by least squares on the rows of Part::fit, clamped to 0 … 1; 0 if these
/// have one length only.
[[nodiscard]] TAMIS_API double fit_exponent(std::span<const double> n,
                                            std::span<const double> k_eps,
                                            std::span<const Part> parts);

/// alpha for k = ⌈alpha·n^C⌉. C must not depend on the rows of the other parts: fit_exponent, or a
/// number known beforehand (0 is the fixed top-k). Throws `usage` for sizes that differ, delta
/// outside (0, 1) or C outside 0 … 1.
[[nodiscard]] TAMIS_API Conformal calibrate_power(std::span<const double> n,
                                                  std::span<const double> k_eps,
                                                  std::span<const Part> parts, double C,
                                                  double delta);

/// The smallest window: w_eps is, per row, the least w ≥ 0 such that its last w keys and its first
/// `sinks` keys together hold mass 1 − eps (w ≤ n).
[[nodiscard]] TAMIS_API Conformal calibrate_window(std::span<const double> n,
                                                   std::span<const double> w_eps,
                                                   std::span<const Part> parts, std::int64_t sinks,
                                                   double delta);

/// One rule on the held-out rows of one length bin.
struct RuleCost {
  double mean_keys = 0;  ///< NaN without held-out rows
  Coverage held_out;
};
/// Held-out rows with n_low ≤ n ≤ n_high: the adaptive rule beside the two fixed ones.
struct LengthBin {
  double n_low = 0;
  double n_high = 0;
  std::int64_t rows = 0;
  RuleCost power;   ///< alpha·n^C
  RuleCost topk;    ///< a fixed number of keys
  RuleCost window;  ///< a fixed window and its sinks
};
struct RuleTable {
  Conformal power;
  Conformal topk;
  Conformal window;
  /// Ascending; about equally many rows in each, counting all parts, so that heads of the same
  /// lengths have the same bins whatever their parts. Equal n are never parted; a bin may have no
  /// held-out row.
  std::vector<LengthBin> bins;
};

/// Calibrates the three rules on the same parts and lays them side by side over `bins` ranges of
/// length. O(rows log rows); allocates a few arrays of that size; thread-safe.
[[nodiscard]] TAMIS_API RuleTable compare_rules(std::span<const double> n,
                                                std::span<const double> k_eps,
                                                std::span<const double> w_eps,
                                                std::span<const Part> parts, std::int64_t sinks,
                                                double delta, std::int64_t bins = 4);

}  // namespace tamis::lab
