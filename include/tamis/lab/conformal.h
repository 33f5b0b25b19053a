// Split-conformal budgets: the smallest rule k = alpha·n^C, or the smallest window, that kept mass
// 1 − eps on all but a share delta of the rows it was calibrated on, and its coverage on held-out
// rows. docs/laws.md says what is guaranteed and what is not.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include <tamis/export.h>

namespace tamis::lab {

/// What a row is used for. The parts are disjoint: exponent, calibration and test share no row.
enum class Part : std::uint8_t { fit, calibration, held_out };

/// Assigns the rows, ordered by n, to the three parts in blocks of `block` neighbours. Every three
/// consecutive blocks hold one of each part, in a random order that depends on the seed. All parts
/// thus cover all lengths, and a held-out row seldom has a calibration row as its neighbour. If
/// `block` is 0, max(1, min(8, rows/12)) is used; if it is negative, `usage` is thrown. Takes
/// O(rows log rows). Thread-safe.
[[nodiscard]] TAMIS_API std::vector<Part> split_rows(std::span<const double> n, std::int64_t block,
                                                     std::uint64_t seed);

/// The share of rows that a rule covered, with its exact (Clopper–Pearson) confidence interval,
/// which assumes independent rows.
struct Coverage {
  std::int64_t rows = 0;
  std::int64_t covered = 0;
  double rate = 0;  ///< covered divided by rows; NaN without rows
  double low = 0;
  double high = 1;
};
[[nodiscard]] TAMIS_API Coverage coverage(std::int64_t covered, std::int64_t rows,
                                          double confidence = 0.95);

/// A calibrated rule: read the heaviest min(n, ⌈alpha·n^C⌉) keys, or, for a window, the last alpha
/// keys and the first `sinks` keys, n at most.
struct Conformal {
  /// The rank-th smallest score of the calibration rows, a row's score being the least alpha that
  /// suffices for it. Infinite, which means that every key is read, if rank > rows.
  double alpha = 0;
  double C = 0;         ///< exponent; 0 for a fixed number of keys and for a window
  bool window = false;  ///< reads the last alpha keys and the sinks, not the heaviest
  std::int64_t sinks = 0;
  std::int64_t rows = 0;  ///< number of calibration rows, m
  std::int64_t rank = 0;  ///< ⌈(1 − delta)(m + 1)⌉, at least 1
  double mean_keys = 0;   ///< keys read per held-out row; NaN without held-out rows
  Coverage held_out;      ///< share of held-out rows that kept mass 1 − eps

  /// Whether there were enough calibration rows for a finite alpha: m ≥ 1/delta − 1.
  [[nodiscard]] bool finite() const { return rank <= rows; }
  /// The number of keys that the rule reads for a row that sees n keys.
  [[nodiscard]] TAMIS_API double keys(double n) const;
};

/// Fits the exponent C of alpha·n^C by least squares of log k_eps over log n on the rows of
/// Part::fit, clamped to 0 … 1. Returns 0 if there are no such rows or all have one length. Throws
/// `usage` for sizes that differ and for n or k_eps out of range.
[[nodiscard]] TAMIS_API double fit_exponent(std::span<const double> n,
                                            std::span<const double> k_eps,
                                            std::span<const Part> parts);

/// Calibrates alpha for k = ⌈alpha·n^C⌉. C must not depend on the calibration and held-out rows:
/// take it from fit_exponent, or give a number known beforehand (0 gives a fixed top-k). Throws
/// `usage` for sizes that differ, delta outside (0, 1) or C outside 0 … 1.
[[nodiscard]] TAMIS_API Conformal calibrate_power(std::span<const double> n,
                                                  std::span<const double> k_eps,
                                                  std::span<const Part> parts, double C,
                                                  double delta);

/// Calibrates the smallest window. For each row, w_eps is the least w with 0 ≤ w ≤ n such that the
/// last w keys and the first `sinks` keys together hold mass 1 − eps. Throws `usage` for sizes
/// that differ, delta outside (0, 1) or sinks < 0.
[[nodiscard]] TAMIS_API Conformal calibrate_window(std::span<const double> n,
                                                   std::span<const double> w_eps,
                                                   std::span<const Part> parts, std::int64_t sinks,
                                                   double delta);

/// How one rule did on the held-out rows of one length bin.
struct RuleCost {
  double mean_keys = 0;  ///< keys read per row; NaN without held-out rows
  Coverage held_out;
};
/// How the adaptive rule and the two fixed ones did on the held-out rows with n_low ≤ n ≤ n_high.
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
  /// Bins of ascending length, each with about the same number of rows. Rows of all parts are
  /// counted, so that heads with the same lengths have the same bins whatever their split. Rows of
  /// equal n are always in the same bin. A bin may have no held-out row.
  std::vector<LengthBin> bins;
};

/// Calibrates the three rules on the same parts and tabulates their held-out results over at most
/// `bins` bins of length. Throws `usage` for sizes that differ, delta outside (0, 1), sinks < 0 or
/// bins < 1. Takes O(rows log rows) and allocates a few arrays of that size. Thread-safe.
[[nodiscard]] TAMIS_API RuleTable compare_rules(std::span<const double> n,
                                                std::span<const double> k_eps,
                                                std::span<const double> w_eps,
                                                std::span<const Part> parts, std::int64_t sinks,
                                                double delta, std::int64_t bins = 4);

}  // namespace tamis::lab
