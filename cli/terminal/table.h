// Aligned columns of text: the first column to the left, the others to the right.
#pragma once

#include <string>
#include <vector>

namespace tamis::cli {

/// The first row is the heading. A character is a column of the screen: none may be wide.
std::string table_text(const std::vector<std::vector<std::string>>& rows);

}  // namespace tamis::cli
