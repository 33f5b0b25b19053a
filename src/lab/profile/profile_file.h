// Reads a profile from bytes instead of a path, so that the fuzz target can call it on memory.
#pragma once

#include <vector>

#include <tamis/lab/profile.h>

#include "core/file.h"

namespace tamis::lab::profiling {

Profile parse_profile(const core::ByteSource& source);
std::vector<HeadBudget> parse_profile_budgets(const core::ByteSource& source);

}  // namespace tamis::lab::profiling
