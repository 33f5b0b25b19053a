// Aligns columns of text. The first column is aligned to the left, the others to the right, except
// a last column of words.
#pragma once

#include <string>
#include <vector>

namespace tamis::cli {

/// Numbers are aligned to the right; words begin where their heading does.
enum class LastColumn { numbers, words };

/// Returns the table, whose first row is the heading. Every character must be one column wide on
/// the screen.
std::string table_text(const std::vector<std::vector<std::string>>& rows,
                       LastColumn last = LastColumn::numbers);

/// Returns a share of 1 as a percentage, or "-" if it is not finite.
std::string percent(double share);

}  // namespace tamis::cli
