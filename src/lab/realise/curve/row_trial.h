// Would a query satisfy its row's conditions, with logits in f64 or f32? A quick check in plain
// floating point for constructions that choose among queries; verification of the whole stays with
// `verify`.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include <tamis/lab/pattern.h>
#include <tamis/lab/verify.h>
#include <tamis/lab/witness.h>
#include "lab/verify/logits.h"

namespace tamis::lab::realisation {

/// The keys of a candidate, ready for trials. Memory: 16 or 28 bytes per element of the keys.
/// Read-only after it is made: safe to use from many threads, each with its own scratch.
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

  /// Whether row i holds in f64 and, by more than f64 can be off, exactly. columns·dim
  /// multiply-adds.
  bool holds(std::int64_t i, std::span<const double> query, Scratch& scratch) const;
  /// Whether it also holds with queries and keys rounded to f32: in f32, in f64 and exactly.
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
  verification::KeyBlocks<double> rounded_;  ///< of the numbers of f32_
};

}  // namespace tamis::lab::realisation
