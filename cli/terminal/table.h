// Aligned columns of text: the first column to the left, the others to the right.
#pragma once

#include <string>
#include <vector>

namespace tamis::cli {

/// The first row is the heading. ASCII only: a byte is a column of the screen.
std::string table_text(const std::vector<std::vector<std::string>>& rows);

}  // namespace tamis::cli
