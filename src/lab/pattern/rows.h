// From entries in any order to the rows of a pattern, with the checks that all pattern files share.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <tamis/lab/pattern.h>
#include <tamis/progress.h>
#include "core/file.h"

namespace tamis::lab::pattern {

/// Counted from 0, inside the matrix; value finite and not negative.
struct PatternEntry {
  std::int64_t row = 0;
  std::int64_t column = 0;
  double value = 0;
};

/// Tells how much of a file has been read, after every megabyte.
class ReadProgress {
 public:
  /// Keeps both by reference.
  ReadProgress(const core::ByteSource& source, const ProgressCallback& progress)
      : source_(source), progress_(progress) {}
  /// Throws `cancelled` if the callback says so.
  void at(std::int64_t bytes);

 private:
  const core::ByteSource& source_;
  const ProgressCallback& progress_;
  std::int64_t told_ = 0;
};

/// Sorts the entries into rows and drops those of value zero. `first_index` is what the file calls
/// the first row, for messages; row and column names, if any, are used there too. Throws `input`
/// for a repeated entry or an empty row. Linear time if each row's entries come in order of column.
/// Allocates by the number of entries only, whatever rows and columns are claimed.
void fill_rows(const std::string& file, std::vector<PatternEntry> entries, int first_index,
               Pattern& pattern);

/// Throws `input` because row `row` of the pattern has no nonzero.
[[noreturn]] void fail_empty_row(const std::string& file, const Pattern& pattern, std::int64_t row,
                                 int first_index);

}  // namespace tamis::lab::pattern
