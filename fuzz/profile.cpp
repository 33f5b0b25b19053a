// Reads the budgets in a profile.
#include "lab/profile/profile_file.h"
#include "target.h"

void fuzz_one(std::span<const std::byte> bytes) {
  (void)tamis::lab::profiling::parse_profile_budgets(*tamis::core::memory_source("input", bytes));
}
