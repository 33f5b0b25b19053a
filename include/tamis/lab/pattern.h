// A pattern: the sparse target matrix whose realisation by attention is asked for.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include <tamis/export.h>
#include <tamis/progress.h>

namespace tamis::lab {

/// A sparse matrix by rows. Every row has a nonzero; values are positive and finite; columns ascend
/// within a row. Row names and column names are empty unless the file has them (qrels).
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
  [[nodiscard]] TAMIS_API std::span<const std::int64_t> columns_of(std::int64_t row) const;
  [[nodiscard]] TAMIS_API std::span<const double> values_of(std::int64_t row) const;
};

/// What the bounds of the theory ask of a pattern.
struct PatternFigures {
  std::int64_t most_per_row = 0;     ///< k, by rows
  std::int64_t most_per_column = 0;  ///< k, by columns
  double gamma = 1;     ///< largest ratio of two nonzeros of one row; infinite beyond f64
  bool causal = false;  ///< square, and no entry above the diagonal
};
/// A few passes over the nonzeros; allocates at most 8 bytes for each. Throws `input` if the
/// pattern is not what is promised above.
TAMIS_API PatternFigures figures_of(const Pattern& pattern);

/// What becomes of topics of qrels without a relevant document, which cannot be rows.
enum class EmptyTopics {
  refuse,  ///< the file is refused with a sentence that names the first of them
  drop     ///< they are left out; their documents stay columns
};

/// Reads Matrix Market (.mtx), .npy (a matrix of any real or integer type) or TREC qrels (.qrels,
/// .txt, .tsv: topic, iteration, document, relevance; relevance > 0 is a nonzero of value 1). Files
/// without a known ending are told apart by how they begin. Memory is bounded by a multiple of the
/// file size. Throws `input` for an empty row, a negative, infinite or NaN value, a repeated entry,
/// an index outside the matrix. A value of zero is not a nonzero, written out or not. Throws
/// `usage` if topics are to be dropped of a file that is no qrels. Progress counts bytes, after
/// every megabyte.
TAMIS_API Pattern read_pattern(const std::string& path, EmptyTopics empty = EmptyTopics::refuse,
                               const ProgressCallback& progress = {});

/// Writes Matrix Market, coordinate real general. Names are not kept.
TAMIS_API void write_matrix_market(const std::string& path, const Pattern& pattern);

}  // namespace tamis::lab
