// Aligned columns of text: the first column to the left, the others to the right, but for a last
// one of words.
#pragma once

#include <string>
#include <vector>

namespace tamis::cli {

/// Words begin where their heading does.
enum class LastColumn { numbers, words };

/// The first row is the heading. A character is a column of the screen: none may be wide.
std::string table_text(const std::vector<std::vector<std::string>>& rows,
                       LastColumn last = LastColumn::numbers);

}  // namespace tamis::cli
