// Reads the budgets in a profile.
#include "io/profile_budgets.h"
#include "target.h"

void fuzz_one(std::span<const std::byte> bytes) {
  (void)tamis::parse_profile_budgets(*tamis::memory_source("input", bytes));
}
