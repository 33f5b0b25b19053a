// "Did you mean", for words that are nearly a name.
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace tamis::cli {

/// "; did you mean X?" with the names that are fewest edits away from `word`: letters that are
/// missing, too many, wrong, or two neighbours exchanged. Empty unless that is at most a third of
/// its letters.
std::string did_you_mean(std::string_view word, std::span<const std::string> names);

}  // namespace tamis::cli
