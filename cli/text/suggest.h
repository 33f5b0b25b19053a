// "Did you mean": suggests names for a misspelt word.
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace tamis::cli {

/// Returns "; did you mean X?" with the names that are the fewest edits away from `word`. An edit
/// adds, removes or replaces a letter, or exchanges two neighbours. Returns an empty string if the
/// fewest edits are more than a third of the letters of `word`.
std::string did_you_mean(std::string_view word, std::span<const std::string> names);

}  // namespace tamis::cli
