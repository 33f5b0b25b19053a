// Draws numbers as small bars of text.
#pragma once

#include <string>
#include <vector>

namespace tamis::cli {

/// Returns one block character per value, scaled from the smallest to the largest of them, or from
/// the smallest to the largest logarithm if `log` is set. A value that is not finite, or not
/// positive where `log` is set, becomes a space.
std::string sparkline(std::vector<double> values, bool log);
/// Returns a share from 0 to 1 as a bar of `width` characters, in eighths of a character.
std::string bar(double share, int width);

}  // namespace tamis::cli
