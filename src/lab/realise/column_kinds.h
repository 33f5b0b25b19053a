// Groups equal columns of a pattern into kinds. Equal columns put the same conditions on their
// keys, so they can share one key, and so can all columns without a nonzero. Searches work on one
// column of each kind, so the number of columns that a file declares costs nothing until a witness
// is expanded to every column.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <tamis/lab/pattern.h>
#include <tamis/lab/realise.h>
#include <tamis/lab/witness.h>

namespace tamis::lab::realisation {

struct ColumnKinds {
  Pattern pattern;  ///< one column of each kind, in the order of `first`; without names
  std::vector<std::int64_t> first;  ///< first column of each kind in the given pattern, ascending
  /// Columns of the given pattern that hold a nonzero, ascending.
  std::vector<std::int64_t> filled;
  std::vector<std::int64_t> kind;  ///< kind of each column in `filled`
  std::int64_t cols = 0;           ///< columns of the given pattern

  /// Whether some columns are equal.
  [[nodiscard]] bool merge() const { return pattern.cols < cols; }
};

/// Two columns are equal if they have the same nonzeros in the same rows or, if `weak`, nonzeros in
/// the same rows. Columns are compared entry by entry, so what holds for one column of a kind holds
/// for all of them. Time: nonzeros·log(nonzeros). Memory: linear in the nonzeros, whatever the
/// declared number of columns. The pattern must have passed `check_pattern`.
ColumnKinds column_kinds(const Pattern& pattern, bool weak);

/// `realise` with keys for the kinds of columns only. `kinds` is the pattern itself if that is
/// square, else the pattern of its `column_kinds`. Needs no memory for each column of `pattern`.
Realisation realise_kinds(const Pattern& pattern, const Pattern& kinds,
                          const RealiseOptions& options, const ProgressCallback& progress);

/// Expands a witness of q and k for `kinds.pattern` to one for the given pattern.
Witness spread(Witness witness, const ColumnKinds& kinds);

/// A clause for messages if a key of `dim` numbers for every column would take more memory than a
/// file with so few nonzeros justifies: more than 256 MiB, with more than 16 columns for each
/// nonzero and no column names. Empty otherwise.
std::string too_many_keys(const Pattern& pattern, std::int64_t dim, DType dtype);

}  // namespace tamis::lab::realisation
