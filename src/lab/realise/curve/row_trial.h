// Checks quickly, in plain floating point, whether a query satisfies the conditions of its row with
// logits in f64 or f32. It is for constructions that choose among queries; `verify` remains the
// verification of the whole.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include <tamis/lab/pattern.h>
#include <tamis/lab/verify.h>
#include <tamis/lab/witness.h>
#include "lab/verify/logits.h"

namespace tamis::lab::realisation {

/// The keys of a candidate, prepared for trials. Memory: 16 or 28 bytes per element of the keys.
/// Read-only once made, so many threads can use it, each with its own Scratch.
class RowTrial {
 public:
  struct Scratch {
    std::vector<double> f64;
    std::vector<float> f32;
    std::vector<double> rounded;
    std::vector<float> query;
  };

  RowTrial(const Pattern& pattern, const Conditions& conditions, std::span<const double> keys,
           std::int64_t dim);

  /// Whether row i holds in f64 and also in exact arithmetic, by a margin above the largest
  /// rounding error. columns·dim multiply-adds.
  bool holds(std::int64_t i, std::span<const double> query, Scratch& scratch) const;
  /// Whether the row also holds with queries and keys rounded to f32: in f32, in f64 and in exact
  /// arithmetic.
  bool holds_in_f32(std::int64_t i, std::span<const double> query, Scratch& scratch) const;

 private:
  template <class T>
  [[nodiscard]] double margin(std::int64_t i, std::span<const T> logits) const;
  [[nodiscard]] double off(std::span<const double> query) const;

  const Pattern& pattern_;
  Conditions conditions_;
  double key_norm_ = 0;
  verification::KeyBlocks<double> f64_;
  verification::KeyBlocks<float> f32_;
  verification::KeyBlocks<double> rounded_;  ///< the numbers of f32_ in f64
};

}  // namespace tamis::lab::realisation
