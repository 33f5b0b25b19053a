// Builds the rows of a pattern from entries in any order, with the checks that all formats share.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <tamis/lab/pattern.h>
#include <tamis/progress.h>
#include "core/file.h"

namespace tamis::lab::pattern {

/// An entry of a matrix. Row and column count from 0 and lie inside the matrix; the value is finite
/// and not negative.
struct PatternEntry {
  std::int64_t row = 0;
  std::int64_t column = 0;
  double value = 0;
};

/// Reports to a callback how much of a file has been read, after every megabyte.
class ReadProgress {
 public:
  /// Keeps references to both arguments.
  ReadProgress(const core::ByteSource& source, const ProgressCallback& progress)
      : source_(source), progress_(progress) {}
  /// `bytes` have been read so far. Throws `cancelled` if the callback asks to stop.
  void at(std::int64_t bytes);

 private:
  const core::ByteSource& source_;
  const ProgressCallback& progress_;
  std::int64_t told_ = 0;
};

/// Sorts the entries into the rows of `pattern`, whose sizes and names are set, and drops those of
/// value zero. Messages use the names of rows and columns, or numbers that count from `first_index`
/// if there are none. Throws `input` for a repeated entry or an empty row. Takes linear time if the
/// entries of each row come in order of column. Memory depends on the number of entries only,
/// whatever numbers of rows and columns a file claims.
void fill_rows(const std::string& file, std::vector<PatternEntry> entries, int first_index,
               Pattern& pattern);

/// Throws `input` because row `row` of the pattern has no nonzero.
[[noreturn]] void fail_empty_row(const std::string& file, const Pattern& pattern, std::int64_t row,
                                 int first_index);

}  // namespace tamis::lab::pattern
