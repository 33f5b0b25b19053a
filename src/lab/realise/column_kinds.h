// Columns that are equal ask for the same of their keys, so one key does for all of them, and one
// for all columns without a nonzero. Searches on a column of each kind meet no copies, and what a
// file claims beyond its nonzeros costs nothing until a witness is spread over every column.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <tamis/lab/pattern.h>
#include <tamis/lab/realise.h>
#include <tamis/lab/witness.h>

namespace tamis::lab::realisation {

struct ColumnKinds {
  Pattern pattern;  ///< a column of each kind, in the order of `first`; without names
  std::vector<std::int64_t> first;   ///< the given pattern's first column of each kind, ascending
  std::vector<std::int64_t> filled;  ///< its columns that hold a nonzero, ascending
  std::vector<std::int64_t> kind;    ///< of each of `filled`
  std::int64_t cols = 0;             ///< of the given pattern

  /// Some columns are equal.
  [[nodiscard]] bool merge() const { return pattern.cols < cols; }
};

/// Columns are equal if they have the same nonzeros in the same rows, or, if `weak`, nonzeros in
/// the same rows. Compared entry by entry, so that what holds of a column of each kind holds of
/// all. Time nonzeros·log(nonzeros), memory linear in the nonzeros, whatever number of columns is
/// claimed. The pattern is one that passed `check_pattern`.
ColumnKinds column_kinds(const Pattern& pattern, bool weak);

/// `realise` with keys for the kinds of columns only; `kinds` is a square pattern itself, or the
/// pattern of its `column_kinds`. Takes no memory for each column.
Realisation realise_kinds(const Pattern& pattern, const Pattern& kinds,
                          const RealiseOptions& options, const ProgressCallback& progress);

/// A witness of q and k for `kinds.pattern` as one for the given pattern.
Witness spread(Witness witness, const ColumnKinds& kinds);

/// A sentence if a key of `dim` numbers for every column would take more memory than a file of so
/// few nonzeros justifies: more than 256 MiB, with more than 16 columns for each nonzero, and no
/// names for them. Empty otherwise.
std::string too_many_keys(const Pattern& pattern, std::int64_t dim, DType dtype);

}  // namespace tamis::lab::realisation
