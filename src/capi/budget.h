// Converts budgets between C and C++.
#pragma once

#include <tamis/budget.h>

#include "capi/call.h"
#include "core/inside.h"

namespace tamis::capi {

/// Throws `usage` unless the kind is known and the reserved field is 0. Does not check the numbers,
/// which check_budget does.
Budget budget_of(const tamis_budget& budget);
TAMIS_INSIDE tamis_budget to_c(const Budget& budget);

}  // namespace tamis::capi
