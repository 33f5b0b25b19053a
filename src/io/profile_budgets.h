// The budgets in a profile, on bytes rather than on a path: what the fuzz target calls on memory.
#pragma once

#include <vector>

#include <tamis/budget.h>
#include "core/file.h"

namespace tamis {

std::vector<HeadBudget> parse_profile_budgets(const ByteSource& source);

}  // namespace tamis
