// The relation of two rows of a pattern on a line, with the columns that show it: the evidence of
// `odd circle` and `sign conflict`. Takes one walk over the columns of both rows.
#pragma once

#include <cstdint>

#include <tamis/lab/pattern.h>
#include <tamis/lab/refutation.h>

namespace tamis::lab::decision {

/// The first column that is in both rows, in neither, or in only one of them; −1 where there is
/// none.
struct Meeting {
  std::int64_t both = -1;
  std::int64_t neither = -1;
  std::int64_t only_a = -1;
  std::int64_t only_b = -1;

  [[nodiscard]] bool same() const { return both >= 0 && neither >= 0; }
  [[nodiscard]] bool opposite() const { return only_a >= 0 && only_b >= 0; }
};

/// Finds these columns. Takes at most as many steps as there are columns; allocates nothing.
Meeting meeting_of(const Pattern& pattern, std::int64_t a, std::int64_t b);

/// The relation of rows a and b, the same direction or not as `same` says. Throws `internal` if
/// they do not have it.
Relation relation_of(const Pattern& pattern, std::int64_t a, std::int64_t b, bool same);

/// The relation of two rows that do not hold all columns and do not cross; such rows have exactly
/// one relation.
Relation relation_of(const Pattern& pattern, std::int64_t a, std::int64_t b);

}  // namespace tamis::lab::decision
