// A pattern is a sparse target matrix. The lab looks for queries and keys whose attention produces
// it, or for a proof that there are none.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include <tamis/export.h>
#include <tamis/progress.h>

namespace tamis::lab {

/// A sparse matrix in compressed rows. Every row has at least one nonzero, values are positive and
/// finite, and columns ascend within a row. Names of rows and columns are empty, except
/// for patterns from qrels.
struct Pattern {
  std::int64_t rows = 0;
  std::int64_t cols = 0;
  std::vector<std::int64_t> row_start;  ///< rows + 1 offsets into column and value
  std::vector<std::int64_t> column;
  std::vector<double> value;
  std::vector<std::string> row_names;
  std::vector<std::string> column_names;
  std::vector<std::string> dropped;  ///< topics of qrels that were left out (EmptyTopics::drop)

  [[nodiscard]] std::int64_t nonzeros() const { return static_cast<std::int64_t>(column.size()); }
  /// The columns and values of the nonzeros of a row. Both throw `usage` for a row out of range.
  [[nodiscard]] TAMIS_API std::span<const std::int64_t> columns_of(std::int64_t row) const;
  [[nodiscard]] TAMIS_API std::span<const double> values_of(std::int64_t row) const;
};

/// The parameters of a pattern that appear in the bounds of the theory.
struct PatternFigures {
  std::int64_t most_per_row = 0;     ///< k: the most nonzeros in a row
  std::int64_t most_per_column = 0;  ///< the most nonzeros in a column
  double gamma = 1;     ///< largest ratio of two nonzeros of one row; infinite on overflow
  bool causal = false;  ///< square, and no entry above the diagonal
};
/// Computes them in a few passes over the nonzeros, with at most 8 bytes of scratch memory for each
/// nonzero. Throws `input` if the pattern breaks a rule of `Pattern`.
TAMIS_API PatternFigures figures_of(const Pattern& pattern);

/// How to treat topics of qrels without a relevant document. They cannot become rows, since every
/// row needs a nonzero.
enum class EmptyTopics {
  refuse,  ///< throw `input` with a sentence that names the first of them
  drop     ///< leave them out, but keep their documents as columns
};

/// Reads a pattern in one of three formats:
///   Matrix Market  .mtx
///   NumPy          .npy, a matrix of any real or integer type
///   TREC qrels     .qrels, .txt or .tsv, with the fields topic, iteration, document and relevance;
///                  a relevance above 0 is a nonzero of value 1
/// If the file name has another ending, the first bytes of the file decide. An entry of value zero
/// is not a nonzero, even if the file lists it. Memory is bounded by a multiple of the file size.
/// Throws `input` for an empty row, a negative, infinite or NaN value, a repeated entry, or an
/// index outside the matrix. Throws `usage` for `EmptyTopics::drop` with a file that is not qrels.
/// `progress` counts bytes and is called after every megabyte.
TAMIS_API Pattern read_pattern(const std::string& path, EmptyTopics empty = EmptyTopics::refuse,
                               const ProgressCallback& progress = {});

/// Writes a Matrix Market file (coordinate real general). Row and column names are not written.
TAMIS_API void write_matrix_market(const std::string& path, const Pattern& pattern);

}  // namespace tamis::lab
