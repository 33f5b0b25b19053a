// Numbers as small bars of text.
#pragma once

#include <string>
#include <vector>

namespace tamis::cli {

/// One block character per value, by its logarithm if `log`, from the smallest to the largest of
/// them; a value that is not finite (or not positive, for logarithms) is a space.
std::string sparkline(std::vector<double> values, bool log);
/// A share of 0 … 1 as a bar of `width` characters, in eighths of a character.
std::string bar(double share, int width);

}  // namespace tamis::cli
